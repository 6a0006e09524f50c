"""Hooks for `doors.watched`: they record calls, kill the process, raise disk errors, or send signals."""

import errno
import os
import signal
from typing import Any

from faults.doors import Boundary, Hook, Side

_write = os.write


class Notes:
    """Records every boundary.

    Attributes:
        passed: the boundaries, in order.
    """

    def __init__(self) -> None:
        self.passed: list[Boundary] = []

    def __call__(self, boundary: Boundary, side: Side, _arguments: tuple[Any, ...]) -> None:
        """Record a boundary."""
        if side is Side.BEFORE:
            self.passed.append(boundary)


def dies_at(number: int, side: Side = Side.BEFORE) -> Hook:
    """Make a hook that kills its process by SIGKILL at a boundary; a write is cut off after half of its bytes."""

    def hook(boundary: Boundary, now: Side, arguments: tuple[Any, ...]) -> None:
        if boundary.number == number and now is side:
            if boundary.call == "write" and side is Side.BEFORE and boundary.size > 1:
                _write(arguments[0], bytes(arguments[1])[: boundary.size // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def dies_where(call: str, part: str, side: Side = Side.BEFORE, function: str = "") -> Hook:
    """Make a hook that kills its process by SIGKILL at the first matching call.

    Args:
        call: the system call.
        part: the end of a path of the call; for "start", the end of a word of the program's command line.
        side: whether to kill before or after the call.
        function: a function of fastinstall that must be on the call stack ("journal.creation_note.finish"); empty for
            any.
    """

    def hook(boundary: Boundary, now: Side, _arguments: tuple[Any, ...]) -> None:
        on_the_way = not function or function in boundary.site
        if now is side and on_the_way and boundary.call == call and any(each.endswith(part) for each in boundary.paths):
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def fails_at(number: int, error: int, *, lasting: bool = False) -> Hook:
    """Make a hook that raises an OSError instead of a call; with ENOSPC, a write first writes half of its bytes.

    Args:
        number: number of the boundary.
        error: the errno (`errno.ENOSPC`).
        lasting: whether every later call that needs space fails, too, as on a disk that stays full.
    """

    def hook(boundary: Boundary, side: Side, arguments: tuple[Any, ...]) -> None:
        if side is not Side.BEFORE:
            return
        if boundary.number == number or (lasting and boundary.number > number and boundary.call in _TAKE_SPACE):
            if boundary.call == "write" and error == errno.ENOSPC and boundary.size > 1:
                _write(arguments[0], bytes(arguments[1])[: boundary.size // 2])
            raise OSError(error, os.strerror(error), boundary.paths[-1] if boundary.paths else None)

    return hook


_TAKE_SPACE = frozenset({"write", "pwrite", "writev", "mkdir", "open", "copy_file_range", "symlink", "link"})


def signalled_at(number: int, by: signal.Signals) -> Hook:
    """Make a hook that sends a signal to its own process, once, after a boundary."""

    def hook(boundary: Boundary, side: Side, _arguments: tuple[Any, ...]) -> None:
        if boundary.number == number and side is Side.AFTER:
            os.kill(os.getpid(), by)

    return hook
