"""Make a virtual environment, and take it away again if the setup fails.

While it is being made, a note in its directory says so (`journal.creation`): a run that dies is taken up by the next.
"""

import contextlib
from pathlib import Path

from fastinstall.errors import DamagedError, FailedError, RefusedError
from fastinstall.journal import creation
from fastinstall.model.steps import CreateEnvironment
from fastinstall.rules.messages import quote
from fastinstall.system import process, signals, trouble


def make_place(step: CreateEnvironment) -> Path | None:
    """The directory, for its lock; None where it is there already.

    Raises:
        OSError: as the kernel says.
    """
    prefix = Path(step.prefix)
    if prefix.is_dir():
        return None
    prefix.mkdir(parents=True)
    return prefix


@signals.deferred()
def leave_place(made: Path) -> None:
    """Take the directory away that was made for nothing."""
    if made.is_dir() and not any(made.iterdir()):
        made.rmdir()


def begin_creation(step: CreateEnvironment, at: str) -> None:
    """Write down that what comes comes from us; the caller holds the lock.

    Raises:
        RefusedError: there is something already.
        OSError: as the kernel says.
    """
    prefix = Path(step.prefix)
    if any(prefix.iterdir()):
        raise RefusedError(
            f"{prefix}: there is something already, and it was to be made", hint=f"--prefix {quote(prefix)}"
        )
    creation.note(prefix, at)


def create_environment(step: CreateEnvironment) -> None:
    """Make it with the interpreter's own venv module, pip included.

    Raises:
        FailedError: venv failed; the caller undoes.
    """
    prefix = Path(step.prefix)
    try:
        process.run((step.python, "-I", "-m", "venv", prefix), timeout=300)
    except process.CommandError as error:
        raise FailedError(
            f"{step.python} could not make a virtual environment in {prefix}",
            hint="on Debian and Ubuntu: apt-get install python3-venv",
            details=error.details,
        ) from error


def end_creation(step: CreateEnvironment) -> None:
    """It is made, and holds what it was made for; a note that cannot be removed is the next command's."""
    with signals.deferred(), contextlib.suppress(OSError):
        creation.finish(Path(step.prefix))


@signals.deferred()
def undo_creation(step: CreateEnvironment) -> None:
    """Remove what came into the directory.

    Raises:
        DamagedError: it could not be removed whole.
    """
    prefix = Path(step.prefix)
    try:
        creation.clear(prefix)
    except OSError as error:
        raise DamagedError(
            f"{trouble.reason(error, prefix)}: the environment that was being made could not be removed whole",
            hint=f"nothing in it is of use; remove the cause, then: rm -r {quote(prefix)}",
        ) from error
