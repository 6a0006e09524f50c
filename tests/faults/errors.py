"""Injects disk errors into a function that runs in a forked process, and records how the function ends.

A function that fails makes a claim: that nothing was changed (exit codes 5, 6 and 130), or that the environment is
damaged (7). Tests compare this claim with the disk.
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
"""Errors of disks that are full, failing, protected, read-only, on another device, slow, or limited by a quota."""

_write = os.write
DESCRIPTOR = frozenset({"write", "pwrite", "ftruncate", "fchmod", "fchown", "fsync", "fdatasync", "copy_file_range"})
_TAKE_SPACE = frozenset({"write", "pwrite", "writev", "mkdir", "open", "copy_file_range", "symlink", "link"})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error, and the boundary at which it begins.

    Attributes:
        number: number of the first boundary that fails.
        error: the errno, such as `errno.ENOSPC`.
        lasting: whether later calls fail, too. Errors of a full disk affect only later calls that need space; other
            errors affect all later calls that change something.
    """

    number: int
    error: int
    lasting: bool = False

    def __str__(self) -> str:
        """Return a text such as "ENOSPC from 17 on"."""
        name = errno.errorcode[self.error]
        return f"{name} from {self.number} on" if self.lasting else f"{name} at {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a function ended, according to itself.

    Attributes:
        kind: "done", "as before", "damaged", "interrupted", "killed", or "bug" for an unexpected exception.
        message: the message of its error.
        hint: the hint of its error.
        trace: the traceback of an unexpected exception.
        reached: the boundary at which the fault struck; empty if the function did not get that far.
    """

    kind: str
    message: str = ""
    hint: str = ""
    trace: str = ""
    reached: str = ""


def breaking(fault: Fault, struck: Callable[[Boundary], None] = lambda _boundary: None) -> Hook:
    """Make a hook that raises the fault's error; if space is lacking, a write first writes half of its bytes.

    Args:
        fault: the error to raise.
        struck: called with the boundary of the first error.
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
    """Make a hook that sends its own process the signals `by`, one after each boundary from `number` on."""

    due, left = number, list(by)

    def hook(boundary: Boundary, side: Side, _arguments: tuple[object, ...]) -> None:
        nonlocal due
        passed = boundary.number > due or (
            boundary.number == due and side is Side.AFTER
        )  # the hook is not called after a call that fails
        if left and passed:
            struck(boundary)
            due = boundary.number + 1
            os.kill(os.getpid(), left.pop(0))

    return hook


def told_by(work: Callable[[], object], make_hook: Callable[[Callable[[Boundary], None]], Hook], within: Path) -> Told:
    """Run a function in a fork, under a hook, and return how it ended.

    Args:
        work: the function.
        make_hook: makes the hook. Its argument is a function that the hook calls when it first interferes.
        within: the only directory that is watched.
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
    """Run a function and return every boundary that it passes."""
    notes = Notes()
    with watched(notes, within=[within]):
        work()
    return notes.passed


def spread_over(numbers: Sequence[int], *, whole: bool) -> Iterator[Fault]:
    """Yield one fault per boundary, alternating errors; if `whole`, every error at every boundary, lasting and not."""
    others = [each for each in ERRORS if each != errno.ENOSPC]
    for place, number in enumerate(numbers):
        if whole:
            both = itertools.product(ERRORS, (False, True))
            yield from (Fault(number=number, error=error, lasting=lasting) for error, lasting in both)
        else:
            error = others[place // 4 % len(others)] if place % 2 else errno.ENOSPC
            yield Fault(number=number, error=error, lasting=place % 4 in (1, 2))


def _named(boundary: Boundary) -> tuple[str, ...]:
    """Return the path that the error names, as a tuple; empty for calls on open files."""
    return () if boundary.call in DESCRIPTOR else boundary.paths[-1:]


def _goes_on(boundary: Boundary, fault: Fault) -> bool:
    """Return True if this call, at or after the fault, fails because the fault lasts; starts of programs never fail."""
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
    except BaseException as error:  # noqa: BLE001 (this process ends here, after it has written the error)
        told = Told(kind="bug", message=str(error), trace=traceback.format_exc())
    try:
        _write(pipe, json.dumps({**asdict(told), "reached": "".join(reached)}).encode())
    finally:
        os._exit(0)
