"""Interruptions that come too late: what was asked for had happened by then, as what is on disk tells."""

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePath

from fastinstall.core.errors import InterruptedAfterCompletion
from fastinstall.core.messages import quote
from fastinstall.journal.snapshot import read_environment_history


@contextlib.contextmanager
def report_late_interruptions(prefix: Path, verb: str) -> Iterator[None]:
    """Raise `InterruptedAfterCompletion` if the block is interrupted after it has changed which transactions hold.

    Args:
        prefix: of the environment that the block works on.
        verb: what is being done ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = _list_held_setups(prefix)
    try:
        yield
    except KeyboardInterrupt as interruption:
        if _list_held_setups(prefix) == before:
            raise
        raise _make_late_interruption(prefix, verb) from interruption


@contextlib.contextmanager
def report_interruption_after_recovery(prefix: Path) -> Iterator[None]:
    """Raise `InterruptedAfterCompletion` where the block, which only recovers, is interrupted when that was done.

    Args:
        prefix: of the environment that the block recovers.

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = read_environment_history(prefix, sized=False).interruptions
    try:
        yield
    except KeyboardInterrupt as interruption:
        if not before or read_environment_history(prefix, sized=False).interruptions:
            raise
        raise _make_late_interruption(prefix, "recovery") from interruption


@contextlib.contextmanager
def report_interruption_after_completion(prefix: PurePath, verb: str) -> Iterator[None]:
    """Raise `InterruptedAfterCompletion` where the block is interrupted: it tells of work that is done.

    Args:
        prefix: of the environment that was worked on.
        verb: what was done ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise _make_late_interruption(prefix, verb) from interruption


def _make_late_interruption(prefix: PurePath, verb: str) -> InterruptedAfterCompletion:
    look = f"fastinstall doctor --prefix {quote(prefix)}"
    return InterruptedAfterCompletion(
        f"interrupted after the {verb} was done: the environment is complete; check: {look}"
    )


def _list_held_setups(prefix: Path) -> tuple[str, ...]:
    return read_environment_history(prefix, sized=False).setups
