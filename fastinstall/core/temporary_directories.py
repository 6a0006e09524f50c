"""Temporary directories that are removed when their use ends, or by a later run if their process was killed."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.files import discard, opened

_DAY = 86400.0
"""One day in seconds."""


@contextlib.contextmanager
def temporary_directory(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """Create a temporary directory, and remove it when the block ends.

    Args:
        prefix: part of the directory's name: "fastinstall-PREFIX-...".
        within: the parent directory; created if missing. Temporary directories that dead processes left in it are
            removed first, and a failure to remove the new directory is ignored. None for the machine's directory for
            temporary files. Then no other directory is removed, and a failure is raised.

    Raises:
        FailedError: `within` is None, and the machine has no writable temporary directory.
        OSError: the directory cannot be created.
    """
    import tempfile

    if within is None:
        _require_temporary_directory()
        with tempfile.TemporaryDirectory(prefix=f"fastinstall-{prefix}-") as name:
            yield Path(name)
        return
    within.mkdir(parents=True, exist_ok=True)
    mark = _mark_of_this_boot()
    if mark:
        discard_abandoned(within.glob(f"fastinstall-*{mark}"))
    # `held` is closed before `locks`, so the directory is removed before its lock is released.
    with contextlib.ExitStack() as locks, contextlib.ExitStack() as held:
        while True:
            made = tempfile.TemporaryDirectory(
                prefix=f"fastinstall-{prefix}-", suffix=mark, dir=within, ignore_cleanup_errors=True
            )
            directory = Path(held.enter_context(made))
            if _lock_directory(directory, locks):
                break
        yield directory


def _lock_directory(directory: Path, locks: contextlib.ExitStack) -> bool:
    """Lock a directory until `locks` closes, and return True.

    Return False if another process considered the directory abandoned, and removed it before this process locked it.
    """
    try:
        descriptor = locks.enter_context(opened(directory, os.O_RDONLY | os.O_DIRECTORY))
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # on a filesystem without locks, no directory counts as abandoned
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return directory.is_dir()


def _mark_of_this_boot() -> str:
    """Return a suffix that identifies the current boot of this machine; empty if the kernel gives no boot_id.

    Machines that share a cache may not see each other's locks, so each machine removes only the directories that have
    its own mark. Source: random(4).
    """
    try:  # not with `foreign`: the kernel refuses to read files of /proc/sys into a large buffer
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").replace("-", "").strip()
    except (OSError, ValueError):
        return ""
    return f".{boot[:12]}"


@contextlib.contextmanager
def _locked_abandoned(directory: Path) -> Iterator[None]:
    """Hold the lock of a temporary directory whose process has died.

    Raises:
        OSError: the process still runs, the directory is gone, or the filesystem has no locks.
    """
    with opened(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def list_abandoned(within: Path) -> tuple[Path, ...]:
    """List the unlocked temporary directories that were created since this boot, or last changed over a day ago."""
    mark, found = _mark_of_this_boot(), list[Path]()
    for directory in sorted(within.glob("fastinstall-*")):
        with contextlib.suppress(OSError), _locked_abandoned(directory):
            is_old = time.time() - directory.stat().st_mtime > _DAY
            if (mark and directory.name.endswith(mark)) or is_old:
                found.append(directory)
    return tuple(found)


def discard_abandoned(directories: Iterable[Path]) -> None:
    """Discard temporary directories, except those that a process has locked."""
    for directory in directories:
        with contextlib.suppress(OSError), _locked_abandoned(directory):  # in use, or being removed by another process
            discard(directory)


def _require_temporary_directory() -> None:
    """Raise if the machine has no writable temporary directory, as in a container with a read-only filesystem."""
    import tempfile

    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:  # the error's text lists the directories that were tried
        message = error.strerror or "no usable temporary directory"
        raise FailedError(message, hint="name one that can be written: TMPDIR=DIR fastinstall ...") from error
