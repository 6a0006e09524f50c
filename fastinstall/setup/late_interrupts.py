"""Report that an interruption came after the work was completed, judged by the state on disk."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePath

from fastinstall.core.errors import InterruptedAfterCompletion
from fastinstall.core.messages import quote
from fastinstall.journal.snapshot import read_environment_history


def report_late_interruptions(prefix: Path, verb: str) -> AbstractContextManager[None]:
    """Return a context that raises if its block is interrupted after it has committed or undone a transaction.

    Args:
        prefix: root of the environment that the block works on.
        verb: the command ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = read_environment_history(prefix, sized=False).setups
    return _report_where(prefix, verb, lambda: read_environment_history(prefix, sized=False).setups != before)


def report_interruption_after_recovery(prefix: Path) -> AbstractContextManager[None]:
    """Return a context that raises if its block, which only recovers, is interrupted after the recovery.

    Args:
        prefix: root of the environment that the block recovers.

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    if not read_environment_history(prefix, sized=False).interruptions:
        return nullcontext()
    return _report_where(prefix, "recovery", lambda: not read_environment_history(prefix, sized=False).interruptions)


def report_interruption_after_completion(prefix: PurePath, verb: str) -> AbstractContextManager[None]:
    """Return a context that raises if its block, which only reports on completed work, is interrupted.

    Args:
        prefix: root of the environment that was changed.
        verb: the command ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    return _report_where(prefix, verb, lambda: True)


@contextmanager
def _report_where(prefix: PurePath, verb: str, is_done: Callable[[], bool]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interruption:
        if not is_done():
            raise
        raise InterruptedAfterCompletion(
            f"interrupted after the {verb} was done: the environment is complete; "
            f"check: fastinstall doctor --prefix {quote(prefix)}"
        ) from interruption
