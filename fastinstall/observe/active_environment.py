"""Find the environment to work on, from what the user named or what the shell says is active.

It does not judge whether the environment may be changed (PEP 668, frozen): the plan decides that from the facts.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import NoEnvironmentError, RefusedError, UndeterminedError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.journal.layout import is_journaled
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import Session

_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
_NAMES = ("bin/python", "bin/python3")
USUAL_NAMES = ("fast-env", ".venv", "venv", "env")
"""Usual names of a project's environment, the likeliest first."""

_NAME_ONE = "name the environment with --prefix DIR"


def locate(prefix: Path | None, python: Path | None, variables: Mapping[str, str], tool_prefix: Path) -> Environment:
    """Return the environment named by `--prefix`, `--python` or the active shell, in this order.

    Relative paths start at the working directory. Symlinks are not resolved, because the path of a virtual
    environment's interpreter identifies the environment.

    Args:
        prefix: the value of `--prefix`; None if it is not given.
        python: the value of `--python`; None if it is not given.
        variables: the environment variables of the shell.
        tool_prefix: `sys.prefix` of fastinstall itself, which is never the target.

    Raises:
        UndeterminedError: the named directory is no environment, or its interpreter does not answer.
        RefusedError: nothing is named or active, the active environments disagree, or the target
            would be the tool's own environment.
        UsageError: `--prefix` and `--python` name different environments.
    """
    if python is not None:
        found = _observe_interpreter_environment(python.absolute())
        if prefix is not None and not _is_same_path(Path(found.prefix), prefix):
            raise UsageError(
                f"--prefix {prefix} and --python {python} disagree: that interpreter belongs to {found.prefix}",
                hint="pass only one of them",
            )
    else:
        found = _observe_prefix(prefix.absolute() if prefix is not None else _find_active_prefix(variables))
    if _is_same_path(Path(found.prefix), tool_prefix):
        raise RefusedError(
            f"{found.prefix}: fastinstall itself runs in this environment and never changes it",
            hint=f"{_NAME_ONE}, or create one: fastinstall setup --new-env DIR",
        )
    return found


def active_prefixes(variables: Mapping[str, str]) -> dict[str, PurePath]:
    """Return the prefixes that the shell says are active, by the name of the variable."""
    return {name: PurePath(variables[name]) for name in _ACTIVE if variables.get(name)}


def kind_of_prefix(prefix: Path) -> EnvironmentKind:
    """Return who manages a prefix, from its files: `conda-meta/` (conda) or `pyvenv.cfg` (PEP 405)."""
    if (prefix / "conda-meta").is_dir():
        return EnvironmentKind.CONDA
    if (prefix / "pyvenv.cfg").is_file():
        return EnvironmentKind.VENV
    return EnvironmentKind.SYSTEM


def is_environment(prefix: Path) -> bool:
    """Return whether a directory is a virtual environment (PEP 405) or a conda environment."""
    try:
        return kind_of_prefix(prefix) is not EnvironmentKind.SYSTEM
    except OSError:
        return False


def is_made_by_uv(prefix: Path) -> bool:
    """Return whether uv created a virtual environment, from its pyvenv.cfg ("uv = 0.9.1")."""
    lines = foreign.text_or_empty(prefix / "pyvenv.cfg").splitlines()
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _observe_prefix(prefix: Path) -> Environment:
    with _explain_unreadable(prefix):
        if not prefix.is_dir():
            if os.path.lexists(prefix):
                raise UndeterminedError(f"{prefix}: not a directory", hint=_NAME_ONE)
            new = f"fastinstall setup --new-env {quote(prefix)}"
            raise UndeterminedError(f"{prefix}: no such directory", hint=f"{_NAME_ONE}, or create one: {new}")
        python = next((prefix / name for name in _NAMES if _is_there(prefix / name)), None)
    if python is None and is_journaled(prefix):
        python = prefix / _NAMES[0]  # its Python is gone; rollback needs none, and everything else reports it
    if python is None:
        raise UndeterminedError(
            f"{prefix}: not a Python environment: it has neither bin/python nor bin/python3",
            hint=f"{_NAME_ONE}, or create one: fastinstall setup --new-env DIR",
        )
    return Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=python)


def _is_there(file: Path) -> bool:
    """Return whether a file is there, and raise where the kernel does not tell."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextmanager
def _explain_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from fastinstall.core.refused_writes import advice, reason  # noqa: PLC0415 (only where something is refused)

        hint = f"{advice(error, path)}; or {_NAME_ONE}"
        raise UndeterminedError(reason(error, path), hint=hint) from error


def _observe_interpreter_environment(python: Path) -> Environment:
    """Return the environment of an interpreter; a `pyvenv.cfg` beside it answers without running it."""
    prefix = python.parent.parent
    with _explain_unreadable(python):
        if python.is_file() and (prefix / "pyvenv.cfg").is_file():
            return Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=python)
    answer = observe_interpreter(python)
    return Environment(prefix=answer.prefix, kind=kind_of_prefix(Path(answer.prefix)), python=answer.executable)


def _find_active_prefix(variables: Mapping[str, str]) -> Path:
    active = active_prefixes(variables)
    if not active:
        raise NoEnvironmentError(tuple(f"./{name}" for name in USUAL_NAMES if is_environment(Path(name))))
    first, *others = (Path(path) for path in active.values())
    if any(not _is_same_path(first, other) for other in others):
        shown = " but ".join(f"{name} is {path}" for name, path in active.items())
        raise RefusedError(
            f"two environments are active: {shown}",
            hint="choose one: " + " or ".join(f"--prefix '{path}'" for path in active.values()),
        )
    return first.absolute()


def _is_same_path(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


@immutable
class NamedTarget:
    """What the user named.

    Attributes:
        prefix: an environment's directory; None if none is named.
        python: an interpreter; None if none is named.
        new: a directory for a new virtual environment, created with `python` or the tool's own base interpreter.
        machine: the machines that a wheel is for, as their kernels name them; empty for this one's.
    """

    prefix: Path | None = None
    python: Path | None = None
    new: Path | None = None
    machine: str = ""


def find_environment(session: Session, target: NamedTarget) -> Environment:
    """Return the existing environment that the user means.

    Raises:
        RefusedError: there is none, two disagree, or it is the tool's own.
        UndeterminedError: it is not an environment.
    """
    return locate(target.prefix, target.python, session.variables, session.tool_prefix)


def is_active_elsewhere(session: Session) -> bool:
    """Return whether the shell has activated an environment other than the tool's own.

    If not, a build without installation is for `base_python`.
    """
    own = os.path.realpath(session.tool_prefix)
    return any(os.path.realpath(prefix) != own for prefix in active_prefixes(session.variables).values())


def base_python(session: Session) -> Path:
    """Return the interpreter that created the tool's own environment."""
    return Path(getattr(sys, "_base_executable", "") or session.tool_python)
