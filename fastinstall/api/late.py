"""Tells an interruption that comes when the work is done from one that comes in time: by what is on the disk."""

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePath

from fastinstall.errors import LateInterruption
from fastinstall.journal.glance import past_of
from fastinstall.rules.messages import quote


@contextlib.contextmanager
def late_interruptions_told(prefix: Path, verb: str) -> Iterator[None]:
    """Raise `LateInterruption` where the block is interrupted, and transactions hold that did not before, or no longer.

    Args:
        prefix: of the environment that the block works on.
        verb: what is being done ("setup").

    Raises:
        LateInterruption: instead of the KeyboardInterrupt.
    """
    before = _holding(prefix)
    try:
        yield
    except KeyboardInterrupt as interruption:
        if _holding(prefix) == before:
            raise
        raise _late(prefix, verb) from interruption


@contextlib.contextmanager
def done_already(prefix: PurePath, verb: str) -> Iterator[None]:
    """Raise `LateInterruption` where the block is interrupted: it tells of work that is done.

    Args:
        prefix: of the environment that was worked on.
        verb: what was done ("setup").

    Raises:
        LateInterruption: instead of the KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise _late(prefix, verb) from interruption


def _late(prefix: PurePath, verb: str) -> LateInterruption:
    look = f"fastinstall doctor --prefix {quote(prefix)}"
    return LateInterruption(
        f"interrupted when the {verb} was done already: the environment is as it is meant to be; see: {look}"
    )


def _holding(prefix: Path) -> tuple[str, ...]:
    return past_of(prefix, sized=False).setups
