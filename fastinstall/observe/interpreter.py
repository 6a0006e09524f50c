"""Interpreters: find those that a wheel could be built with, and ask one what it is, without running its `site`.

The slowest question can be started before the rest of the program is imported, because doctor must feel instant.
Nothing is imported in the target.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, Completed, RunningProbe, run
from fastinstall.core.surroundings import stranger_in
from fastinstall.core.values import decode
from fastinstall.journal.layout import is_journaled
from fastinstall.model.facts import Interpreter, Runtime
from fastinstall.model.request import Environment
from fastinstall.observe.session import Session

_TIMEOUT = 20.0
_INSIDE = Path(__file__).with_name("_inside.py")
_SCHEMA = "fastinstall.interpreter/1"
_OLD = "import sys; sys.stdout.write('.'.join(map(str, sys.version_info[:3])))"
_HINT = "name another interpreter with --python EXE, or another environment with --prefix DIR"


def observe_interpreter(python: Path) -> Interpreter:
    """What the interpreter `python` says about itself (about 20 ms).

    Args:
        python: its path; a virtual environment's symlink must not be resolved.

    Raises:
        UndeterminedError: it is not there, cannot be executed, is no Python (or too old to answer),
            crashes, or does not answer within 20 seconds.
    """
    _check_file(python)
    completed = _ask(python, "-I", "-S", "-B", str(_INSIDE))
    answer = _parse(completed.stdout)
    if answer is None:
        raise _make_no_answer_error(python, completed)
    return decode(Interpreter, answer, file=PurePath(python))


def explain_absence(python: Path) -> str:
    """Explain from its file why an interpreter cannot run here, or return "" if it may."""
    if python.is_dir():
        return "is a directory"
    if python.is_symlink() and not python.exists():
        return f"points to {python.readlink()}, which is gone"
    if not python.is_file():
        return "no such file"
    return "" if os.access(python, os.X_OK) else "not executable"


def _check_file(python: Path) -> None:
    absent = explain_absence(python)
    if absent:
        raise UndeterminedError(f"{python}: {absent}, so no interpreter to observe", hint=_format_hint(python))
    _check_settings(python)


def _check_settings(python: Path) -> None:
    """A Python whose pyvenv.cfg cannot be read speaks of the installation behind it, or waits for ever (PEP 405)."""
    settings = python.parent.parent / "pyvenv.cfg"
    if os.path.lexists(settings):
        try:
            foreign.read_bytes(settings, limit=foreign.DOCUMENT)
        except OSError as error:
            message = f"{settings}: cannot be read: {error.strerror or error}"
            raise UndeterminedError(message, hint=_format_hint(python)) from None


def _format_hint(python: Path) -> str:
    """Going back needs no interpreter."""
    prefix = python.parent.parent
    if not is_journaled(prefix):
        return _HINT
    back = f"fastinstall rollback --yes --prefix {quote(prefix)}"
    return f"what fastinstall did there can be undone without it: {back}; or {_HINT}"


def _ask(python: Path, *arguments: str) -> Completed:
    try:
        return run((python, *arguments), timeout=_TIMEOUT, check=False)
    except CommandError as error:
        raise UndeterminedError(error.message, hint=_format_hint(python), details=error.details) from error


def _parse(stdout: str) -> Mapping[str, Any] | None:
    """Parse the script's answer, or return None if the program was not a Python that could give one."""
    last = stdout.strip().rpartition("\n")[2]
    try:
        document = json_data(last)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        return None
    answer = document.get("interpreter")
    return answer if isinstance(answer, dict) else None


def _make_no_answer_error(python: Path, completed: Completed) -> UndeterminedError:
    details = tuple(line for line in completed.stderr.strip().splitlines()[-4:] if line.strip())
    settings = python.parent.parent / "pyvenv.cfg"
    if os.path.lexists(settings):
        details = (f"which Python it stands for is read from {settings}", *details)
    if completed.signal_name:
        return UndeterminedError(
            f"{python}: killed by {completed.signal_name} when asked", hint=_format_hint(python), details=details
        )
    version = _ask_old_version(python)
    if version:
        message = f"{python}: Python {version} is too old to be observed; 3.7 is the oldest that can answer"
        return UndeterminedError(message, hint=_format_hint(python))
    return UndeterminedError(
        f"{python}: does not answer like a Python interpreter", hint=_format_hint(python), details=details
    )


def _ask_old_version(python: Path) -> str:
    """The version of a Python too old for our script; empty if this is none."""
    answer = _ask(python, "-c", _OLD).stdout.strip()
    parts = answer.split(".")
    return answer if len(parts) == 3 and all(part.isdigit() for part in parts) else ""  # noqa: PLR2004 (X.Y.Z)


_ELF = b"\x7fELF"


def interpreter_with(
    abi: str, python: str, first: tuple[Path, ...], variables: Mapping[str, str]
) -> Interpreter | None:
    """Find a CPython with this ABI, or return None. Root never runs another user's interpreter.

    Args:
        abi: the ABI tag that its extension modules have: "cp311".
        python: its version, by which it is looked up: "3.11".
        first: interpreters that are asked before all others.
        variables: those on PATH come first, then those that pyenv and uv keep (PYENV_ROOT, XDG_DATA_HOME, HOME).
    """
    free_threaded = "t" if abi.endswith("t") else ""
    seen: set[str] = set()
    for candidate in (*first, *_list_interpreters(f"python{python}{free_threaded}", variables)):
        real = os.path.realpath(candidate)
        if real in seen or (candidate not in first and stranger_in(Path(real).parent.parent)):
            continue
        seen.add(real)
        try:
            found = observe_interpreter(candidate)
        except UndeterminedError:
            continue
        if found.abi == abi and found.implementation == "cpython":
            return found
    return None


def _list_interpreters(name: str, variables: Mapping[str, str]) -> Iterator[Path]:
    for directory in filter(None, variables.get("PATH", "").split(os.pathsep)):
        yield from _select_executable(Path(directory, name))
    home = Path(variables.get("HOME", "/"))
    versions = Path(variables.get("PYENV_ROOT") or home / ".pyenv", "versions")
    kept_by_uv = Path(variables.get("XDG_DATA_HOME") or home / ".local/share", "uv", "python")
    for root in (versions, kept_by_uv):
        for found in sorted(root.glob(f"*/bin/{name}")):
            yield from _select_executable(found)


def _select_executable(file: Path) -> Iterator[Path]:
    """A program, and no script that stands for one and may refuse to run: pyenv's shims do."""
    try:
        with foreign.open_foreign_file(file) as stream:
            if stream.read(len(_ELF)) == _ELF and os.access(file, os.X_OK):
                yield file
    except OSError:
        return


def use_pil(session: Session, environment: Environment) -> RunningProbe[Runtime]:
    """Import and use the target's PIL in a subprocess, while this process goes on."""
    from fastinstall.observe.runtime import observe_runtime  # noqa: PLC0415 (a quick examination uses nothing)

    return RunningProbe(partial(observe_runtime, Path(environment.python), environment=session.variables, quick=True))


def ask(environment: Environment) -> RunningProbe[Interpreter]:
    """Ask the target's interpreter what it is, while this process goes on."""
    return RunningProbe(partial(observe_interpreter, Path(environment.python)))
