"""Make a virtual environment, and take it away again if the setup fails."""

from pathlib import Path

from fastinstall.errors import DamagedError, FailedError
from fastinstall.model.steps import CreateEnvironment
from fastinstall.rules.messages import quote
from fastinstall.system import files, process, signals, trouble


def create_environment(step: CreateEnvironment) -> None:
    """Make it with the interpreter's own venv module, pip included.

    Raises:
        FailedError: venv failed; nothing is left.
    """
    prefix = Path(step.prefix)
    existed = prefix.exists()
    try:
        process.run((step.python, "-I", "-m", "venv", prefix), timeout=300)
    except process.CommandError as error:
        undo_creation(step, existed=existed)
        raise FailedError(
            f"{step.python} could not make a virtual environment in {prefix}",
            hint="on Debian and Ubuntu: apt-get install python3-venv",
            details=error.details,
        ) from error
    except BaseException:
        undo_creation(step, existed=existed)
        raise


def undo_creation(step: CreateEnvironment, *, existed: bool = False) -> None:
    """Remove the environment that we have made; an empty directory that was there stays.

    Raises:
        DamagedError: it could not be removed whole.
    """
    prefix = Path(step.prefix)
    with signals.deferred():
        try:
            for entry in tuple(prefix.iterdir()) if existed and prefix.is_dir() else (prefix,):
                files.discard(entry)
        except OSError as error:
            raise DamagedError(
                f"{trouble.reason(error, prefix)}: the environment that was being made could not be removed whole",
                hint=f"nothing in it is of use; remove the cause, then: rm -r {quote(prefix)}",
            ) from error
