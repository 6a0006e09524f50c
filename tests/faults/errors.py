"""Errors of the disk on purpose, in a process of its own, and what the work then told of itself.

A work that fails claims something: that all is as before (exit codes 5, 6 and 130), or that it is not (7). The claim is
looked at against the disk each time, by whoever calls.
"""

import errno
import itertools
import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fastinstall.core.errors import EnvironmentDamagedError, FastinstallError
from faults.doors import Boundary, Hook, Side, watched
from faults.hooks import Notes

ERRORS = (
    *(errno.ENOSPC, errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV, errno.EINTR, errno.EMFILE),
    errno.EDQUOT,
)
"""What kernels say of disks that are full, dying, guarded, remounted, foreign, slow, or behind a limit."""

_write = os.write
DESCRIPTOR = frozenset({"write", "pwrite", "ftruncate", "fchmod", "fchown", "fsync", "fdatasync", "copy_file_range"})
_TAKE_SPACE = frozenset({"write", "pwrite", "writev", "mkdir", "open", "copy_file_range", "symlink", "link"})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong, and from when on.

    Attributes:
        number: of the boundary at which it does.
        error: `errno.ENOSPC` and the like.
        lasting: it goes on: a full disk takes nothing any more, one of another kind changes nothing any more.
    """

    number: int
    error: int
    lasting: bool = False

    def __str__(self) -> str:
        """For people: "ENOSPC from 17 on"."""
        name = errno.errorcode[self.error]
        return f"{name} from {self.number} on" if self.lasting else f"{name} at {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a work said of its end.

    Attributes:
        kind: "done", "as before", "damaged", "interrupted", or "bug" for what nobody has explained.
        message: of its error.
        hint: likewise.
        trace: of an error that nobody has explained.
        reached: the boundary at which the fault struck; empty where the work never came to it.
    """

    kind: str
    message: str = ""
    hint: str = ""
    trace: str = ""
    reached: str = ""


def breaking(fault: Fault, struck: Callable[[Boundary], None] = lambda _boundary: None) -> Hook:
    """Whoever stands at the door refuses: a write for want of space has written half.

    Args:
        fault: what is refused.
        struck: hears of the first refusal.
    """

    def hook(boundary: Boundary, side: Side, arguments: tuple[object, ...]) -> None:
        first = boundary.number == fault.number
        if side is not Side.BEFORE or not (first or _goes_on(boundary, fault)):
            return
        if first:
            struck(boundary)
        if boundary.call == "write" and fault.error in _FULL and boundary.size > 1:
            _write(arguments[0], bytes(arguments[1])[: boundary.size // 2])  # type: ignore[arg-type, call-overload]
        raise OSError(fault.error, os.strerror(fault.error), *_named(boundary))

    return hook


def calling(number: int, by: Sequence[signal.Signals], struck: Callable[[Boundary], None]) -> Hook:
    """Sends signals to the process itself: the first behind a boundary, each further one behind the next of them."""

    due, left = number, list(by)

    def hook(boundary: Boundary, side: Side, _arguments: tuple[object, ...]) -> None:
        nonlocal due
        passed = boundary.number > due or (
            boundary.number == due and side is Side.AFTER
        )  # a call that fails has no end
        if left and passed:
            struck(boundary)
            due = boundary.number + 1
            os.kill(os.getpid(), left.pop(0))

    return hook


def told_by(work: Callable[[], object], make_hook: Callable[[Callable[[Boundary], None]], Hook], within: Path) -> Told:
    """Run a work in a fork with somebody at the door.

    Args:
        work: what is run.
        make_hook: makes who stands there, given who wants to hear of the first strike.
        within: the only directory that counts.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _tell(work, make_hook, within, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Told(kind="killed", message=signal.Signals(os.WTERMSIG(status)).name)
    return Told(**json.loads(text))


def boundaries_of(work: Callable[[], object], within: Path) -> Sequence[Boundary]:
    """Every boundary that a work passes; it is really done."""
    notes = Notes()
    with watched(notes, within=[within]):
        work()
    return notes.passed


def spread_over(numbers: Sequence[int], *, whole: bool) -> Iterator[Fault]:
    """One trouble per boundary, every other one a full disk, once or lasting; or (whole) each of them both ways."""
    others = [each for each in ERRORS if each != errno.ENOSPC]
    for place, number in enumerate(numbers):
        if whole:
            both = itertools.product(ERRORS, (False, True))
            yield from (Fault(number=number, error=error, lasting=lasting) for error, lasting in both)
        else:
            error = others[place // 4 % len(others)] if place % 2 else errno.ENOSPC
            yield Fault(number=number, error=error, lasting=place % 4 in (1, 2))


def _named(boundary: Boundary) -> tuple[str, ...]:
    """An error about an open file names no path."""
    return () if boundary.call in DESCRIPTOR else boundary.paths[-1:]


def _goes_on(boundary: Boundary, fault: Fault) -> bool:
    """A process that is started on a broken disk is another's affair."""
    if not fault.lasting or boundary.number < fault.number or boundary.call == "start":
        return False
    return fault.error not in _FULL or boundary.call in _TAKE_SPACE


def _tell(
    work: Callable[[], object],
    make_hook: Callable[[Callable[[Boundary], None]], Hook],
    within: Path,
    pipe: int,
) -> None:
    reached: list[str] = []
    try:
        with watched(make_hook(lambda boundary: reached.append(str(boundary))), within=[within]):
            work()
        told = Told(kind="done")
    except EnvironmentDamagedError as error:
        told = Told(kind="damaged", message=error.message, hint=error.hint or "")
    except FastinstallError as error:
        told = Told(kind="as before", message=error.message, hint=error.hint or "")
    except KeyboardInterrupt:
        told = Told(kind="interrupted")
    except BaseException as error:  # noqa: BLE001 (this process ends here: its words are all that it can leave)
        told = Told(kind="bug", message=str(error), trace=traceback.format_exc())
    try:
        _write(pipe, json.dumps({**asdict(told), "reached": "".join(reached)}).encode())
    finally:
        os._exit(0)
