"""Return remedies for findings, and shell commands that show the evidence.

Remedies depend on the kind of environment. A command that shows evidence is one line for common tools, quoted for a
shell. It only reads files, or runs the target's Python, which imports PIL like any program of the user.
"""

import shlex
from pathlib import PurePath

from fastinstall.core.architecture import AARCH64, X86_64, architecture_of
from fastinstall.doctor.check_context import CheckContext
from fastinstall.index.upgrades import requirement
from fastinstall.model.conda_packages import conda_command
from fastinstall.model.dependants import dependants_of
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.finding import Remedy

_FORCED = ("--force-reinstall", "--no-deps")
_NEW_ENVIRONMENT = "fastinstall setup --new-env ./fast-env"


def word_command(context: CheckContext, words: str, *options: str) -> str:
    """Return a fastinstall command for this environment; `words` has its verb, and options that take no value."""
    return show("fastinstall", *words.split(), "--prefix", context.facts.environment.prefix, *options)


def offer_repair(context: CheckContext) -> Remedy:
    """Return the remedy that restores a working stack.

    With a receipt, the remedy is `doctor --fix`. Without a receipt, it is a setup or, if no setup is possible, the
    installation of stock Pillow.
    """
    if context.receipt is not None:
        return Remedy(text="restore what was set up here", command=word_command(context, "doctor --fix"))
    if not is_changeable(context.facts) or not context.recipe.serves(context.facts.cpu.architecture):
        return offer_stock(context)
    return Remedy(text="replace it with an intact stack", command=word_command(context, "setup"))


def offer_setup(context: CheckContext, text: str, *options: str) -> Remedy:
    """Return the remedy to run a setup, in a separate environment if this one must not be changed."""
    if not context.recipe.serves(context.facts.cpu.architecture):
        return Remedy(text=f"{text}: {context.recipe.name} can do that on {context.recipe.served} only")
    if not is_changeable(context.facts):
        return Remedy(text=f"{text}, in a separate environment", command=_NEW_ENVIRONMENT)
    return Remedy(text=text, command=word_command(context, "setup", *options))


def suggest_conda_reinstall(context: CheckContext, text: str, *names: str) -> Remedy:
    """Return the remedy that restores files of conda packages.

    The remedy is conda's own command if the environment is protected, or if the core on disk is the one that the
    receipt records. Otherwise, it is `doctor --fix`.
    """
    if is_changeable(context.facts) and not context.core_is_ours:
        return Remedy(text=text, command=word_command(context, "doctor --fix"))
    return Remedy(text=text, command=conda_command(context.facts, "install", *_FORCED, *names))


def is_changeable(facts: Facts) -> bool:
    """Return whether a setup may change this environment.

    True for an unprotected virtual environment, and for a conda environment that is neither base nor frozen.
    """
    if facts.environment.kind is EnvironmentKind.CONDA:
        return facts.frozen is None and not (facts.conda is not None and facts.conda.is_base)
    protected = facts.interpreter.externally_managed is not None or facts.frozen is not None
    return facts.environment.kind is EnvironmentKind.VENV and not protected


def offer_stock(context: CheckContext, *, upgrade: bool = False, least: str = "") -> Remedy:
    """Return the remedy that installs stock Pillow with the environment's package manager.

    Args:
        context: the environment, for its package manager and the distributions that require Pillow.
        upgrade: whether to install a later version rather than reinstall the present one.
        least: minimum version of Pillow, used only with conda; empty for any version.
    """
    facts, text = context.facts, "install a later Pillow" if upgrade else "install Pillow again"
    if facts.environment.kind is EnvironmentKind.CONDA:
        # Conda's solver obeys the requirements of conda packages, but does not see those of pip's packages.
        wanted = requirement("pillow", dependants_of(facts), least)
        words = ["update" if wanted == "pillow" else "install"] if upgrade else ["install", *_FORCED]
        return Remedy(text=text, command=conda_command(facts, *words, wanted))
    if facts.interpreter.externally_managed is not None:
        return Remedy(text=f"{text}, with the operating system's package manager")
    wanted = requirement("pillow", dependants_of(facts))
    if facts.interpreter.pip_version is None:
        options = ("--upgrade",) if upgrade else ("--reinstall-package", "pillow")
        command = show("uv", "pip", "install", "--python", facts.environment.python, *options, wanted)
    else:
        way = "--upgrade" if upgrade else "--force-reinstall"
        command = show(facts.environment.python, "-m", "pip", "install", way, "--no-deps", wanted)
    return Remedy(text=text, command=command)


_FRAMES = {X86_64.machine: "mov *%rsp,%rbp", AARCH64.machine: r"st.*[wx]0, \[\(sp\|x29\)"}
"""Pattern that shows unoptimised functions in objdump's output, by machine.

On x86-64 it matches the set-up of a stack frame; on aarch64, the store of the first parameter into the frame.
"""

PRINT_FEATURES = "from PIL import features; features.pilinfo()"
IMPORT_CORE = "import PIL._imaging"
VERSION = "import PIL; print(PIL.__version__, PIL.__file__)"
_COMPARE = (
    "import base64 as b, hashlib as h, importlib.metadata as m; "
    'd = lambda f: b.urlsafe_b64encode(h.sha256(f.read_binary()).digest()).decode().rstrip("="); '
    'print(*[f for f in m.files("{name}") if f.hash and (not f.locate().exists() or d(f) != f.hash.value)])'
)
_COMPARE_WITH_CONDA = (
    "import hashlib as h, json, pathlib as p, sys; r = p.Path(sys.prefix); "
    'd = json.load(open({record}))["paths_data"]["paths"]; '
    'w = [(r / f["_path"], f.get("sha256_in_prefix") or f.get("sha256")) for f in d]; '
    "print(*[f for f, s in w if s and (not f.exists() or h.sha256(f.read_bytes()).hexdigest() != s)])"
)


def show(*words: PurePath | str) -> str:
    """Join words into a command that is quoted for a shell; a word "|" becomes a pipe."""
    return " ".join("|" if word == "|" else shlex.quote(str(word)) for word in words)


def show_files(*paths: PurePath) -> str:
    """Return a command that lists files, or the contents of directories, with size and time."""
    return show("ls", "-la", *paths)


def show_text(*paths: PurePath) -> str:
    """Return a command that shows text files."""
    return show("cat", *paths)


def show_needed(path: PurePath) -> str:
    """Return a command that lists the libraries that an ELF file needs."""
    return show("readelf", "-d", path, "|", "grep", "NEEDED")


def show_note(path: PurePath) -> str:
    """Return a command that shows the CPU level that an ELF file declares to need."""
    return show("readelf", "-nW", path, "|", "grep", "-i", "ISA needed")


def show_strings(path: PurePath, pattern: str) -> str:
    """Return a command that shows the strings of a binary that match an extended grep pattern, ignoring case."""
    return show("strings", path, "|", "grep", "-iE", pattern)


def count_frames(context: CheckContext, path: PurePath) -> str:
    """Return a command that counts, in a binary, the instructions that are typical of unoptimised functions."""
    return show("objdump", "-d", path, "|", "grep", "-c", _FRAMES.get(context.facts.cpu.architecture, ""))


def show_variables(*names: str) -> str:
    """Return a command that shows environment variables of the shell."""
    return show("env", "|", "grep", "-E", f"^({'|'.join(names)})=")


def show_cpu(context: CheckContext) -> str:
    """Return a command that shows the features of the processor, as the kernel names them."""
    features = architecture_of(context.facts.cpu.architecture).features
    return show("grep", "-m1", f"^{features}", "/proc/cpuinfo")


def show_owner(context: CheckContext, name: str = "pillow") -> str:
    """Return a command that lists a distribution's files with pip or, without pip, its entries in site-packages."""
    if context.facts.interpreter.pip_version is None:
        packages = context.facts.interpreter.site_packages
        return show("ls", "-la", packages, "|", "grep", "-i", name.replace("-", "[-_.]"))
    return show(context.facts.environment.python, "-m", "pip", "show", "-f", name)


def compare_with_record(context: CheckContext, name: str) -> str:
    """Return a command that lists files of a distribution that are missing or differ from its RECORD (PEP 376)."""
    return run_python(context, _COMPARE.format(name=name))


def compare_with_conda(context: CheckContext, record: PurePath) -> str:
    """Return a command that lists files of a conda package that are missing or differ from its record."""
    return run_python(context, _COMPARE_WITH_CONDA.format(record=repr(str(record))))


def run_python(context: CheckContext, code: str) -> str:
    """Return a command that runs a line of code in the target's Python."""
    return show(context.facts.environment.python, "-c", code)


def trace_search(context: CheckContext, name: str, code: str = IMPORT_CORE) -> str:
    """Return a command that shows where the target's loader searches and finds a library (`man ld.so`, LD_DEBUG)."""
    return _trace(context, "libs", name, code)


def trace_bindings(context: CheckContext, symbol: str) -> str:
    """Return a command that shows to which files the target's loader binds a symbol (`man ld.so`, LD_DEBUG)."""
    return _trace(context, "bindings", symbol, IMPORT_CORE)


def _trace(context: CheckContext, what: str, pattern: str, code: str) -> str:
    # LD_BIND_NOW is set, since the loader reports a lazy binding only when the function is first called.
    python = show("env", f"LD_DEBUG={what}", "LD_BIND_NOW=1", context.facts.environment.python, "-c", code)
    return f"{python} 2>&1 | {show('grep', '-F', pattern)}"
