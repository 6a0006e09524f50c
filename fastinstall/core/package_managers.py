"""Recognise programs that change packages, and which environment they change, by command line and variables. Pure.

Only commands that change something count. If the words leave open which environment is meant, all possible ones are
reported: waiting for an unrelated program costs a minute, meeting one in the middle costs the environment.
"""

import hashlib
import shlex
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import PurePath

from fastinstall.core.command_lines import is_on, option, positional, script_of, unwrap_command
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
        holders: directories that environments lie in directly, any of which may be meant.
        names: patterns of an environment's own name, where its place cannot be told (see fnmatch).
        mark: what an environment of that name has to have ("conda-meta").
        until_child: it changes something only until it starts a program, and then waits for that (`uv run`).
    """

    tool: str
    action: str
    places: tuple[PurePath, ...] = ()
    holders: tuple[PurePath, ...] = ()
    names: tuple[str, ...] = ()
    mark: str = ""
    until_child: bool = False


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
_PROJECT_VALUED = frozenset({"-C", "--directory", "-P", "-p", "--project", "-c", "--config", "--manifest-path", "-m"})
_POETRY_VERBS = frozenset({"install", "add", "remove", "update", "sync"})
_PIXI_VERBS = frozenset({"install", "i", "add", "remove", "rm", "update", "upgrade", "reinstall", "clean"})
_RUNNING = ("run", "shell")


def change_of(program: RunningProgram) -> Change | None:
    """Return what a process changes, or None if it is not a known tool or only reads."""
    tool, arguments = unwrap_command(program.words)
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
        holders=tuple(program.directory / place for place in found.get("holders", ())),
        names=tuple(map(str, found.get("names", ()))),
        mark="conda-meta" if tool in CONDA else "",
        until_child=tool in ("uv", "pixi") and positional(arguments, _UV_VALUED | _PROJECT_VALUED)[0] in _RUNNING,
    )


def could_change(words: tuple[str, ...]) -> bool:
    """Return whether a command is worth a closer look."""
    return unwrap_command(words)[0] in _TOOLS


def describe_concurrent_installers(installers: tuple[ConcurrentInstaller, ...]) -> str:
    """Describe who is at work, for people: "process 42 (pip install pillow) changes packages there"."""
    told = listing(f"process {installer.process} ({installer.action})" for installer in installers)
    return f"{told} {'changes' if len(installers) == 1 else 'change'} packages there"


_Found = Mapping[str, tuple[PurePath | str, ...]]
"""The fields of `Change` that tell where."""


def _recognise_pip(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    """Recognise pip's install and uninstall, and where they act. Source: pip's documentation."""
    verb, rest = positional(arguments, _PIP_VALUED)
    if verb not in ("install", "uninstall") or is_on(rest, "--dry-run", "--user", "--help", "-h"):
        return None
    told = program.variables
    if verb == "install":
        target = option(rest, "--root") or option(rest, "--target", "-t") or option(rest, "--prefix")
        target = target or told.get("PIP_ROOT") or told.get("PIP_TARGET") or told.get("PIP_PREFIX")
        if target:
            return {"places": (target,)}
    other = option(arguments, "--python") or told.get("PIP_PYTHON")
    return {"places": (other,) if other else (program.interpreter,)}


def _recognise_uv(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    command, rest = positional(arguments, _UV_VALUED)
    if is_on(rest, "--dry-run", "--help", "-h", "--check"):
        return None
    match command:
        case "pip":
            return _recognise_uv_pip(program, rest, arguments)
        case "sync" | "add" | "remove" | "run":
            return _recognise_uv_project(program, rest, arguments)
        case "venv":
            path, _ = positional(rest, ("-p", "--python", "--prompt"))
            return {"places": (path or ".venv",)}
        case _:
            return None


def _recognise_uv_pip(program: RunningProgram, words: tuple[str, ...], arguments: tuple[str, ...]) -> _Found | None:
    verb, rest = positional(words, _UV_VALUED)
    if verb not in ("install", "sync", "uninstall"):
        return None
    told = program.variables
    target = option(rest, "--target", "-t") or option(rest, "--prefix")
    python = option(rest, "--python", "-p") or told.get("UV_PYTHON", "")
    if target or "/" in python:
        return {"places": (target or python,)}
    if is_on(rest, "--system") or told.get("UV_SYSTEM_PYTHON", "").lower() not in _OFF:
        return {"places": tuple(PurePath(each).parent for each in told.get("PATH", "").split(":") if each)}
    active = told.get("VIRTUAL_ENV") or told.get("CONDA_PREFIX")
    return {"places": (active,) if active else _list_upwards(option(arguments, "--directory"), program, ".venv")}


def _recognise_uv_project(program: RunningProgram, rest: tuple[str, ...], arguments: tuple[str, ...]) -> _Found | None:
    told = program.variables
    if is_on(rest, "--no-sync", "--no-project", "--isolated", "--script", "-s"):
        return None
    if told.get("UV_NO_SYNC", "").lower() not in _OFF:
        return None
    if is_on(rest, "--active") and told.get("VIRTUAL_ENV"):
        return {"places": (told["VIRTUAL_ENV"],)}
    start = option(arguments, "--project") or option(arguments, "--directory")
    return {"places": _list_upwards(start, program, told.get("UV_PROJECT_ENVIRONMENT") or ".venv")}


def _recognise_conda(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    verb, rest = positional(arguments, _CONDA_VALUED)
    if verb == "env":
        verb, rest = positional(rest, _CONDA_VALUED)
        changes = verb in ("create", "update", "remove")
    else:
        changes = verb in _CONDA_VERBS
    if not changes or is_on(rest, "--dry-run", "-d", "--download-only", "--help", "-h"):
        return None
    prefix, name, told = option(arguments, "--prefix", "-p"), option(arguments, "--name", "-n"), program.variables
    if prefix:
        return {"places": (prefix,)}
    root = _find_conda_root(program, arguments)
    if name and name not in ("base", "root"):
        return {"names": (name,)} if "/" not in name else {"places": (name,)}
    active = told.get("CONDA_PREFIX") if not name else None
    return {"places": (active or root,)}


def _find_conda_root(program: RunningProgram, arguments: tuple[str, ...]) -> str:
    """Return where the base environment is: as told, or where the script or program lies (`ROOT/bin/conda`)."""
    told = option(arguments, "--root-prefix", "-r") or program.variables.get("MAMBA_ROOT_PREFIX")
    script = script_of(program.words) or program.interpreter
    return told or str(script.parent.parent)


def _recognise_poetry(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    verb, rest = positional(arguments, _PROJECT_VALUED)
    if verb not in _POETRY_VERBS or is_on(rest, "--dry-run", "--no-sync", "--lock", "--help", "-h"):
        return None
    start = option(arguments, "--project", "-P", "-p") or option(arguments, "--directory", "-C")
    active = tuple(filter(None, (program.variables.get("VIRTUAL_ENV"), program.variables.get("CONDA_PREFIX"))))
    projects = _list_upwards(start, program, ".")
    return {
        "places": (*active, *_list_upwards(start, program, ".venv")),
        "names": tuple(f"*-{_compute_poetry_digest(project)}-py*" for project in projects),
    }


def _compute_poetry_digest(project: PurePath) -> str:
    """Return the digest in the name of an environment of poetry's own.

    Source: `EnvManager.generate_env_name` of poetry.
    """
    return urlsafe_b64encode(hashlib.sha256(str(project).encode("utf-8", "surrogateescape")).digest()).decode()[:8]


def _recognise_pixi(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    verb, rest = positional(arguments, _PROJECT_VALUED)
    if verb not in (*_PIXI_VERBS, *_RUNNING) or is_on(rest, "--no-install", "--dry-run", "-n", "--help", "-h"):
        return None
    manifest = option(arguments, "--manifest-path", "-m")
    start = str(PurePath(manifest).parent) if manifest and manifest.endswith(".toml") else manifest
    return {"holders": _list_upwards(start, program, ".pixi/envs")}


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


def _recognise_venv(_program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    path, _ = positional(arguments, ("--prompt",))
    return {"places": (path,)} if path and not is_on(arguments, "--help", "-h") else None


def _recognise_ensurepip(program: RunningProgram, arguments: tuple[str, ...]) -> _Found | None:
    return None if is_on(arguments, "--version", "--help", "-h") else {"places": (program.interpreter,)}


_TOOLS: Mapping[str, Callable[[RunningProgram, tuple[str, ...]], _Found | None]] = {
    "pip": _recognise_pip,
    "uv": _recognise_uv,
    **dict.fromkeys(CONDA, _recognise_conda),
    "poetry": _recognise_poetry,
    "pdm": _recognise_poetry,
    "pixi": _recognise_pixi,
    "venv": _recognise_venv,
    "ensurepip": _recognise_ensurepip,
    WORKER: _recognise_own_worker,
}
