"""Report an interruption that came after the work was done: the disk shows that it had happened."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePath

from fastinstall.core.errors import InterruptedAfterCompletion
from fastinstall.core.messages import quote
from fastinstall.journal.snapshot import read_environment_history


def report_late_interruptions(prefix: Path, verb: str) -> AbstractContextManager[None]:
    """Raise `InterruptedAfterCompletion` if the block is interrupted after it has changed which transactions hold.

    Args:
        prefix: of the environment that the block works on.
        verb: what is being done ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = read_environment_history(prefix, sized=False).setups
    return _report_where(prefix, verb, lambda: read_environment_history(prefix, sized=False).setups != before)


def report_interruption_after_recovery(prefix: Path) -> AbstractContextManager[None]:
    """Raise `InterruptedAfterCompletion` where the block, which only recovers, is interrupted when that was done.

    Args:
        prefix: of the environment that the block recovers.

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    if not read_environment_history(prefix, sized=False).interruptions:
        return nullcontext()
    return _report_where(prefix, "recovery", lambda: not read_environment_history(prefix, sized=False).interruptions)


def report_interruption_after_completion(prefix: PurePath, verb: str) -> AbstractContextManager[None]:
    """Raise `InterruptedAfterCompletion` where the block is interrupted: it tells of work that is done.

    Args:
        prefix: of the environment that was worked on.
        verb: what was done ("setup").

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
