"""Commands that show what a verdict rests on: one line each, to be pasted into a shell, of tools that are at hand.

What they name is quoted for a shell. Those that run the target's Python import PIL there, as any program of the
user's does; the others read files.
"""

import shlex
from pathlib import PurePath

from fastinstall.rules.checks._context import CheckContext

FEATURES = "from PIL import features; features.pilinfo()"
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


def show_digests(*paths: PurePath) -> str:
    """The sha256 of files."""
    return _joined("sha256sum", *paths)


def show_files(*paths: PurePath) -> str:
    """Files, or the contents of directories, with size and time."""
    return _joined("ls", "-la", *paths)


def show_text(*paths: PurePath) -> str:
    """The contents of text files."""
    return _joined("cat", *paths)


def show_needed(path: PurePath) -> str:
    """The libraries that an ELF file asks for."""
    return _piped(_joined("readelf", "-d", path), _joined("grep", "NEEDED"))


def show_note(path: PurePath) -> str:
    """The CPU level that an ELF file declares to need."""
    return _piped(_joined("readelf", "-nW", path), _joined("grep", "-i", "ISA needed"))


def show_symbols(path: PurePath, pattern: str) -> str:
    """The dynamic symbols of an ELF file whose names have a pattern of grep in them."""
    return _piped(_joined("nm", "-D", path), _joined("grep", pattern))


def count_symbols(path: PurePath, name: str) -> str:
    """How many dynamic symbols of an ELF file have this in their names: 0 where it is missing."""
    return _piped(_joined("nm", "-D", path), _joined("grep", "-c", name))


def show_strings(path: PurePath, pattern: str) -> str:
    """The texts in a binary that have a pattern of extended grep in them, in either case."""
    return _piped(_joined("strings", path), _joined("grep", "-iE", pattern))


def count_frames(path: PurePath) -> str:
    """How many functions of an x86-64 binary set up a frame as an unoptimised build does."""
    return _piped(_joined("objdump", "-d", path), _joined("grep", "-c", "mov *%rsp,%rbp"))


def show_lines(pattern: str, *paths: PurePath) -> str:
    """The lines of text files with a pattern of grep in them."""
    return _joined("grep", "-H", pattern, *paths)


def find_text(text: str, directory: PurePath) -> str:
    """The files of a directory that have a text in them."""
    return _joined("grep", "-rlF", text, directory)


def show_variables(*names: str) -> str:
    """Environment variables of the shell."""
    return _piped("env", _joined("grep", "-E", f"^({'|'.join(names)})="))


def show_cpu() -> str:
    """The features of the processor, as the kernel names them."""
    return _joined("grep", "-m1", "^flags", "/proc/cpuinfo")


def show_owner(context: CheckContext, name: str = "pillow") -> str:
    """The files of an installed distribution, as pip knows it; the metadata directories where there is no pip."""
    if context.facts.interpreter.pip_version is None:
        escaped = name.replace("-", "[-_.]")
        return _piped(_joined("ls", "-la", context.facts.interpreter.site_packages), _joined("grep", "-i", escaped))
    return _joined(context.facts.environment.python, "-m", "pip", "show", "-f", name)


def compare_with_record(context: CheckContext, name: str) -> str:
    """The files of an installed distribution that are missing or not as its RECORD says (PEP 376)."""
    return run_python(context, _COMPARE.format(name=name))


def compare_with_conda(context: CheckContext, record: PurePath) -> str:
    """The files of an installed package of conda's that are missing or not as its record says."""
    return run_python(context, _COMPARE_WITH_CONDA.format(record=repr(str(record))))


def run_python(context: CheckContext, code: str) -> str:
    """A line of Python in the target."""
    return _joined(context.facts.environment.python, "-c", code)


def show_python(context: CheckContext) -> str:
    """The version of the target's Python."""
    return _joined(context.facts.environment.python, "--version")


def trace_search(context: CheckContext, name: str, code: str = IMPORT_CORE) -> str:
    """Where the loader of the target looks for a library and what it takes (`man ld.so`, LD_DEBUG)."""
    return _traced(context, "libs", name, code)


def trace_bindings(context: CheckContext, symbol: str, code: str = IMPORT_CORE) -> str:
    """Which file's definition of a symbol each file of the target gets (`man ld.so`, LD_DEBUG)."""
    return _traced(context, "bindings", symbol, code)


def _traced(context: CheckContext, what: str, pattern: str, code: str) -> str:
    # Bound at once: the loader tells of a lazy binding only when the function is first called.
    python = _joined("env", f"LD_DEBUG={what}", "LD_BIND_NOW=1", context.facts.environment.python, "-c", code)
    return _piped(f"{python} 2>&1", _joined("grep", "-F", pattern))


def _joined(*words: PurePath | str) -> str:
    return shlex.join(map(str, words))


def _piped(*commands: str) -> str:
    return " | ".join(commands)
