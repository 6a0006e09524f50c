"""Temporary directories that are removed with their process, or by the next run after a kill."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.files import discard

_DAY = 86400.0
"""Seconds."""


@contextlib.contextmanager
def temporary_directory(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """Make a directory of our own that goes away with the block.

    Args:
        prefix: of its name, after ours.
        within: a directory to make it in, which may be missing; leftovers of dead processes there are removed first,
            and so is what cannot be removed at the end. None for the machine's directory for temporary files.

    Raises:
        FailedError: no directory for temporary files can be written, and none is named.
        OSError: as the kernel says.
    """
    import tempfile  # noqa: PLC0415 (like `write_bytes`)

    if within is None:
        _require_temporary_directory()
        with tempfile.TemporaryDirectory(prefix=f"fastinstall-{prefix}-") as name:
            yield Path(name)
        return
    within.mkdir(parents=True, exist_ok=True)
    mark = _mark_of_this_boot()
    _discard_abandoned(within, mark)
    with contextlib.ExitStack() as locks, contextlib.ExitStack() as held:  # removed before the lock ends
        while True:
            made = tempfile.TemporaryDirectory(
                prefix=f"fastinstall-{prefix}-", suffix=mark, dir=within, ignore_cleanup_errors=True
            )
            directory = Path(held.enter_context(made))
            if _lock_directory(directory, locks):
                break
        yield directory


def _lock_directory(directory: Path, locks: contextlib.ExitStack) -> bool:
    """Lock a directory until `locks` ends; False where another process has taken it for an abandoned one."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    locks.callback(os.close, descriptor)
    with contextlib.suppress(OSError):  # where nothing can be locked, nothing is found abandoned
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return directory.is_dir()


def _mark_of_this_boot() -> str:
    """Return a suffix for directories of this boot of this machine; empty if the kernel gives no boot_id.

    Machines that share a cache do not see each other's locks, so each judges only its own. Source: random(4).
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").replace("-", "").strip()
    except (OSError, ValueError):
        return ""
    return f".{boot[:12]}"


def _discard_abandoned(within: Path, mark: str) -> None:
    """Discard temporary directories of this boot that no process locks any more."""
    for directory in within.glob(f"fastinstall-*{mark}") if mark else ():
        _discard_unlocked(directory)


def _discard_unlocked(directory: Path) -> None:
    with contextlib.suppress(OSError), _locked_abandoned(directory):  # it is in use, or another process is at it
        discard(directory)


@contextlib.contextmanager
def _locked_abandoned(directory: Path) -> Iterator[None]:
    """Hold the lock of a temporary directory whose process has died.

    Raises:
        OSError: its process lives, or it is gone.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def list_abandoned(within: Path) -> tuple[Path, ...]:
    """List the temporary directories that dead processes left; also of earlier boots, if a day has passed since."""
    mark, found = _mark_of_this_boot(), list[Path]()
    for directory in sorted(within.glob("fastinstall-*")):
        with contextlib.suppress(OSError), _locked_abandoned(directory):
            is_old = time.time() - directory.stat().st_mtime > _DAY
            if (mark and directory.name.endswith(mark)) or is_old:
                found.append(directory)
    return tuple(found)


def discard_abandoned(directories: Iterable[Path]) -> None:
    """Discard temporary directories that `list_abandoned` has listed."""
    for directory in directories:
        _discard_unlocked(directory)


def _require_temporary_directory() -> None:
    """Raise where no directory for temporary files can be written, as in a container of a read-only file system."""
    import tempfile  # noqa: PLC0415 (like `write_bytes`)

    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:  # its text lists what was tried
        message = error.strerror or "no usable temporary directory"
        raise FailedError(message, hint="name one that can be written: TMPDIR=DIR fastinstall ...") from error
