"""Ask an interpreter about itself, without running its `site`; find an interpreter for building a wheel.

Asking takes longer than all other probes. Therefore the subprocess can be started before the rest of fastinstall is
imported, so that doctor feels instant. No third-party module is imported in the target.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.codec import decode
from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.journal.layout import is_journaled
from fastinstall.model.facts import Environment, Interpreter, Runtime
from fastinstall.observe.session import Session

_TIMEOUT = 20.0
_INSIDE = Path(__file__).with_name("_inside.py")
_SCHEMA = "fastinstall.interpreter/1"
_OLD = "import sys; sys.stdout.write('.'.join(map(str, sys.version_info[:3])))"
_HINT = "name another interpreter with --python EXE, or another environment with --prefix DIR"


def observe_interpreter(python: Path, variables: Mapping[str, str] | None = None) -> Interpreter:
    """Return the facts that an interpreter reports about itself; takes about 20 ms.

    Args:
        python: path of the interpreter; do not resolve a virtual environment's symbolic link.
        variables: environment variables of the user's programs; None for the variables of this process.

    Raises:
        UndeterminedError: the interpreter is missing, cannot be executed, is not a Python, is too old to answer,
            crashes, or does not answer within 20 seconds.
    """
    absent = explain_absence(python)
    if absent:
        raise _make_error(python, absent)
    _check_settings(python)
    completed = _ask(python, "-I", "-S", "-B", str(_INSIDE), variables=variables)
    with suppress(ValueError):  # the output is not our script's JSON
        document = json_data(completed.stdout.strip().rpartition("\n")[2])
        answer = document.get("interpreter") if isinstance(document, dict) else None
        if isinstance(answer, dict) and document.get("schema") == _SCHEMA:
            interpreter = decode(Interpreter, answer, file=python)
            if interpreter.shadows:
                from fastinstall.observe.runtime import complete_shadow  # imported late: rarely needed

                interpreter = replace(interpreter, shadows=tuple(map(complete_shadow, interpreter.shadows)))
            return interpreter
    raise _make_no_answer_error(python, completed)


def explain_absence(python: Path) -> str:
    """Return why an interpreter cannot be run, judged by its file, or "" if it can."""
    try:
        if python.is_dir():
            return "is a directory"
        if python.is_symlink() and not python.exists():
            return f"points to {python.readlink()}, which is gone"
        if not python.is_file():
            return "no such file"
        return "" if os.access(python, os.X_OK, effective_ids=True) else "not executable"
    except OSError as error:
        return error.strerror or str(error)


def _check_settings(python: Path) -> None:
    """Require that pyvenv.cfg, if it exists, is readable: otherwise, Python describes its base installation or hangs.

    Source: PEP 405.

    Raises:
        UndeterminedError: the file cannot be read.
    """
    settings = python.parent.parent / "pyvenv.cfg"
    if os.path.lexists(settings):
        try:
            foreign.read_bytes(settings, limit=foreign.DOCUMENT)
        except OSError as error:
            message = f"{settings}: cannot be read: {error.strerror or error}"
            raise UndeterminedError(message, hint=_format_hint(python)) from None


def _format_hint(python: Path) -> str:
    """Return the hint for an error message; if fastinstall has changed the environment, the hint offers a rollback."""
    prefix = python.parent.parent
    if not is_journaled(prefix):
        return _HINT
    back = f"fastinstall rollback --yes --prefix {quote(prefix)}"
    return f"to undo what fastinstall did there, run: {back}; or {_HINT}"


def _ask(python: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> Completed:
    try:
        return run((python, *arguments), environment=variables, timeout=_TIMEOUT, check=False)
    except CommandError as error:
        raise UndeterminedError(error.message, hint=_format_hint(python), details=error.details) from error


def _make_error(python: Path, problem: str, details: tuple[str, ...] = ()) -> UndeterminedError:
    return UndeterminedError(f"{python}: {problem}", hint=_format_hint(python), details=details)


def _make_no_answer_error(python: Path, completed: Completed) -> UndeterminedError:
    details = tuple(line for line in completed.stderr.strip().splitlines()[-4:] if line.strip())
    settings = python.parent.parent / "pyvenv.cfg"
    if os.path.lexists(settings):
        details = (f"{settings} names the base Python", *details)
    if completed.signal_name:
        return _make_error(python, f"killed by {completed.signal_name} when asked", details)
    version = _ask(python, "-c", _OLD).stdout.strip()
    if re.fullmatch(r"\d+\.\d+\.\d+", version):
        return _make_error(python, f"Python {version} is too old: fastinstall can observe 3.7 and later")
    return _make_error(python, "the answer is not that of a Python interpreter", details)


def use_pil(session: Session, environment: Environment) -> RunningProbe[Runtime]:
    """Start a subprocess that imports and uses the target's PIL, and return it without waiting for the result."""
    from fastinstall.observe.runtime import observe_programs_pil  # not needed for a quick examination

    return RunningProbe(partial(observe_programs_pil, environment.python, session.variables))


def ask_interpreter(session: Session, environment: Environment) -> RunningProbe[Interpreter]:
    """Start a subprocess that asks the target's interpreter about itself; return it without waiting for the result."""
    return RunningProbe(partial(observe_interpreter, environment.python, session.variables))


_ELF = b"\x7fELF"


def interpreter_with(
    abi: str, python: str, first: tuple[Path, ...], variables: Mapping[str, str]
) -> Interpreter | None:
    """Return a CPython interpreter with this ABI, or None if none is found. Root never runs another user's interpreter.

    Args:
        abi: the ABI tag of the interpreter's extension modules: "cp311".
        python: the interpreter's minor version: "3.11".
        first: interpreters to ask before all others; their owners are not checked.
        variables: environment variables. Interpreters are searched on PATH, then among those that pyenv and uv
            installed (PYENV_ROOT, XDG_DATA_HOME, HOME).
    """
    from fastinstall.core.foreign_code import find_stranger  # needed only to build a wheel

    free_threaded = "t" if abi.endswith("t") else ""
    seen: set[str] = set()
    for candidate in (*first, *_list_interpreters(f"python{python}{free_threaded}", variables)):
        real = os.path.realpath(candidate)
        if real in seen or (candidate not in first and find_stranger(Path(real).parent.parent)):
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
    """Yield interpreters that are ELF files. Scripts are skipped: pyenv's shims may refuse to start an interpreter."""
    home = Path(variables.get("HOME", "/"))
    candidates = [Path(place, name) for place in variables.get("PATH", "").split(os.pathsep) if place]
    versions = Path(variables.get("PYENV_ROOT") or home / ".pyenv", "versions")
    kept_by_uv = Path(variables.get("XDG_DATA_HOME") or home / ".local/share", "uv", "python")
    for root in (versions, kept_by_uv):
        candidates += sorted(root.glob(f"*/bin/{name}"))
    for file in candidates:
        with suppress(OSError), foreign.open_foreign_file(file) as stream:
            if stream.read(len(_ELF)) == _ELF and os.access(file, os.X_OK):
                yield file
