"""Recognise programs that change packages, and which environment they change, by command line and variables. Pure.

Known are pip, uv, conda and its kin, and our own worker; what others change is noticed by its files. Only commands that
change something count. If the words leave open which environment is meant, all possible ones are reported: waiting for
an unrelated program costs a minute, meeting one in the middle costs the environment.
"""

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath

from fastinstall.core.messages import listing
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable


@immutable
class RunningProgram:
    """A running process, as far as its command says what it does.

    Attributes:
        number: its process ID, as /proc lists it.
        words: the command line, word by word.
        variables: it was started with; empty if that is not for us to see.
        directory: it works in; relative paths on its command line start there.
        interpreter: what it runs, by the name that it was called by.
    """

    number: int
    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    directory: PurePath = PurePath("/")
    interpreter: PurePath = PurePath()


@immutable
class Change:
    """What a command changes, by its words alone.

    Attributes:
        tool: "pip", "uv", "conda" ...
        action: its command, for people; without the passwords of URLs.
        places: environments, or paths inside them; where several may be meant, all of them.
        names: patterns of an environment's own name, where its place cannot be told (see fnmatch).
        mark: what an environment of that name has to have ("conda-meta").
    """

    tool: str
    action: str
    places: tuple[PurePath, ...] = ()
    names: tuple[str, ...] = ()
    mark: str = ""


@immutable
class ConcurrentInstaller:
    """A program that is changing packages of an environment.

    Attributes:
        process: its process ID, which messages name.
        tool: "pip", "uv", "conda" ...
        action: its command, for people.
    """

    process: int
    tool: str
    action: str


WORKER = "_rattler_worker.py"
"""The program of ours that has py-rattler change packages."""

RATTLER = "py-rattler, for fastinstall"
CONDA = ("conda", "mamba", "micromamba")

_SHOWN = 160
_OFF = ("", "0", "false", "no", "off")
_PIP_VALUED = frozenset(
    {"--python", "--log", "--proxy", "--retries", "--timeout", "--exists-action", "--trusted-host", "--cert"}
    | {"--client-cert", "--cache-dir", "--use-feature", "--use-deprecated", "--keyring-provider", "--resume-retries"}
)
_UV_VALUED = frozenset(
    {"--directory", "--project", "--config-file", "--cache-dir", "--color", "--allow-insecure-host"}
    | {"--python-preference", "--python-fetch", "--preview-features"}
)
_CONDA_VALUED = frozenset(
    {"-p", "--prefix", "-n", "--name", "-r", "--root-prefix", "--rc-file", "-c", "--channel", "--platform"}
)
_CONDA_VERBS = frozenset({"install", "remove", "uninstall", "update", "upgrade", "create", "rename"})


def change_of(program: RunningProgram) -> Change | None:
    """Return what a process changes, or None if it is not a known tool or only reads."""
    tool, arguments = _unwrap_command(program.words)
    judge = _TOOLS.get(tool)
    found = judge(program, arguments) if judge is not None else None
    if found is None:
        return None
    name = RATTLER if tool == WORKER else tool
    shown = redact_text(shlex.join((name, *arguments)) if tool != WORKER else name)
    return Change(
        tool=name,
        action=shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}...",
        places=tuple(program.directory / place for place in found.get("places", ())),
        names=tuple(map(str, found.get("names", ()))),
        mark="conda-meta" if tool in CONDA else "",
    )


def could_change(words: tuple[str, ...]) -> bool:
    """Return whether a command is worth a closer look."""
    return _unwrap_command(words)[0] in _TOOLS


def describe_concurrent_installers(installers: tuple[ConcurrentInstaller, ...]) -> str:
    """Describe who is at work, for people: "process 42 (pip install pillow) changes packages there"."""
    told = listing(f"process {installer.process} ({installer.action})" for installer in installers)
    return f"{told} {'changes' if len(installers) == 1 else 'change'} packages there"


_Found = Mapping[str, tuple[PurePath | str, ...]]
"""The fields of `Change` that tell where."""


def _recognise_pip(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    """Recognise pip's install and uninstall, and where they act. Source: pip's documentation."""
    verb, rest = _split_verb(arguments, _PIP_VALUED)
    if verb not in ("install", "uninstall") or _is_given(rest, "--dry-run", "--user", "--help", "-h"):
        return None
    told = program.variables
    if verb == "install":
        target = _read_option(rest, "--root") or _read_option(rest, "--target", "-t") or _read_option(rest, "--prefix")
        target = target or told.get("PIP_ROOT") or told.get("PIP_TARGET") or told.get("PIP_PREFIX")
        if target:
            return {"places": (target,)}
    other = _read_option(arguments, "--python") or told.get("PIP_PYTHON")
    return {"places": (other,) if other else (program.interpreter,)}


def _recognise_uv(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    command, rest = _split_verb(arguments, _UV_VALUED)
    if _is_given(rest, "--dry-run", "--help", "-h", "--check"):
        return None
    match command:
        case "pip":
            return _recognise_uv_pip(program, rest, arguments)
        case "sync" | "add" | "remove":
            return _recognise_uv_project(program, rest, arguments)
        case _:
            return None


def _recognise_uv_pip(program: RunningProgram, words: tuple[str, ...], arguments: tuple[str, ...]) -> _Found | None:
    verb, rest = _split_verb(words, _UV_VALUED)
    if verb not in ("install", "sync", "uninstall"):
        return None
    told = program.variables
    target = _read_option(rest, "--target", "-t") or _read_option(rest, "--prefix")
    python = _read_option(rest, "--python", "-p") or told.get("UV_PYTHON", "")
    if target or "/" in python:
        return {"places": (target or python,)}
    if _is_given(rest, "--system") or told.get("UV_SYSTEM_PYTHON", "").lower() not in _OFF:
        return {"places": tuple(PurePath(each).parent for each in told.get("PATH", "").split(":") if each)}
    active = told.get("VIRTUAL_ENV") or told.get("CONDA_PREFIX")
    return {"places": (active,) if active else _list_upwards(_read_option(arguments, "--directory"), program, ".venv")}


def _recognise_uv_project(program: RunningProgram, rest: tuple[str, ...], arguments: tuple[str, ...]) -> _Found | None:
    told = program.variables
    if _is_given(rest, "--no-sync", "--script"):
        return None
    if told.get("UV_NO_SYNC", "").lower() not in _OFF:
        return None
    if _is_given(rest, "--active") and told.get("VIRTUAL_ENV"):
        return {"places": (told["VIRTUAL_ENV"],)}
    start = _read_option(arguments, "--project") or _read_option(arguments, "--directory")
    return {"places": _list_upwards(start, program, told.get("UV_PROJECT_ENVIRONMENT") or ".venv")}


def _recognise_conda(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    verb, rest = _split_verb(arguments, _CONDA_VALUED)
    if verb == "env":
        verb, rest = _split_verb(rest, _CONDA_VALUED)
        changes = verb in ("create", "update", "remove")
    else:
        changes = verb in _CONDA_VERBS
    if not changes or _is_given(rest, "--dry-run", "-d", "--download-only", "--help", "-h"):
        return None
    prefix, name, told = (
        _read_option(arguments, "--prefix", "-p"),
        _read_option(arguments, "--name", "-n"),
        program.variables,
    )
    if prefix:
        return {"places": (prefix,)}
    root = _find_conda_root(program, arguments)
    if name and name not in ("base", "root"):
        return {"names": (name,)} if "/" not in name else {"places": (name,)}
    active = told.get("CONDA_PREFIX") if not name else None
    return {"places": (active or root,)}


def _find_conda_root(program: RunningProgram, arguments: tuple[str, ...]) -> str:
    """Return where the base environment is: as told, or where the script or program lies (`ROOT/bin/conda`)."""
    told = _read_option(arguments, "--root-prefix", "-r") or program.variables.get("MAMBA_ROOT_PREFIX")
    script = _find_script(program.words) or program.interpreter
    return told or str(script.parent.parent)


def _recognise_own_worker(_program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    """Recognise our own worker, whose orders are a document in JSON."""
    for word in arguments:
        try:
            orders = json_data(word)
        except ValueError:
            continue
        if isinstance(orders, dict) and isinstance(orders.get("prefix"), str):
            return {"places": (orders["prefix"],)}
    return None


def _list_upwards(start: str | None, program: RunningProgram, name: str) -> tuple[PurePath, ...]:
    """Return a name in a directory and in all those above it, which is how projects are looked for."""
    first = program.directory / (start or ".")
    return tuple(directory / name for directory in (first, *first.parents))


_TOOLS: Mapping[str, Callable[[RunningProgram, tuple[str, ...]], _Found | None]] = {
    "pip": _recognise_pip,
    "uv": _recognise_uv,
    **dict.fromkeys(CONDA, _recognise_conda),
    WORKER: _recognise_own_worker,
}


_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*[a-z]*")

_PYTHON_VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})

_MODULE, _COMMAND = re.compile(r"-[A-Za-z]*m"), re.compile(r"-[A-Za-z]*c")
"""Options of one letter may be joined: `python -Im pip`."""

_NUMBERED = re.compile(r"(pip)[0-9.]+")

_ENTRANCES = ("__main__.py", "__pip-runner__.py")
"""Files by which a package is run as a program."""


def _unwrap_command(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the tool that a command line runs, by its own name, and its arguments.

    >>> _unwrap_command(("python3.12", "-Im", "pip", "install", "pillow"))
    ('pip', ('install', 'pillow'))

    >>> _unwrap_command(("/venv/bin/python", "/venv/bin/pip3", "list"))
    ('pip', ('list',))

    Scripts and modules that Python runs are told by their names; a tool that is no script, by the name of its file.
    Empty if Python runs something else (`-c`, or its prompt).
    """
    if not words:
        return "", ()
    name = PurePath(words[0]).name
    if _PYTHON.fullmatch(name) is None:
        return _strip_version_suffix(name), tuple(words[1:])
    place = 1
    while place < len(words) and words[place].startswith("-"):
        if _MODULE.fullmatch(words[place]):
            return _strip_version_suffix("".join(words[place + 1 : place + 2])), tuple(words[place + 2 :])
        if words[place] == "-" or _COMMAND.fullmatch(words[place]):
            return "", ()
        place += 2 if words[place] in _PYTHON_VALUED else 1
    if place >= len(words):
        return "", ()
    return _strip_version_suffix(_name_script(PurePath(words[place]))), tuple(words[place + 1 :])


def _find_script(words: Sequence[str]) -> PurePath | None:
    """Return the file that Python was told to run, where a tool is one."""
    return next((PurePath(word) for word in words[1:] if not word.startswith("-") and "/" in word), None)


def _split_verb(arguments: Sequence[str], valued: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return the first word that is no option, and those behind it.

    >>> _split_verb(("--log", "x.txt", "install", "-U", "pillow"), {"--log"})
    ('install', ('-U', 'pillow'))

    Args:
        arguments: what stands behind the tool's name.
        valued: options whose value is a word of its own.
    """
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] in valued else 1
    return "".join(arguments[place : place + 1]), tuple(arguments[place + 1 :])


def _read_option(arguments: Sequence[str], *names: str) -> str | None:
    """Return the last value that is given for an option: `--name VALUE`, `--name=VALUE`, `-nVALUE`.

    >>> _read_option(("-p", "/a", "--prefix=/b"), "--prefix", "-p"), _read_option(("-n", "x"), "--prefix")
    ('/b', None)
    """
    found = None
    for place, word in enumerate(arguments):
        for name in names:
            if word == name and place + 1 < len(arguments):
                found = arguments[place + 1]
            elif word.startswith(f"{name}=") and name.startswith("--"):
                found = word.removeprefix(f"{name}=")
            elif word.startswith(name) and len(name) == 2 and len(word) > 2:  # noqa: PLR2004 (a dash and a letter)
                found = word.removeprefix(name).removeprefix("=")
    return found


def _is_given(arguments: Sequence[str], *flags: str) -> bool:
    """Return whether one of several flags is given."""
    return any(flag in arguments for flag in flags)


def _name_script(path: PurePath) -> str:
    return path.parent.name if path.name in _ENTRANCES else path.name


def _strip_version_suffix(name: str) -> str:
    name = name.removesuffix(".pyz")
    numbered = _NUMBERED.fullmatch(name)
    return numbered[1] if numbered is not None else name
