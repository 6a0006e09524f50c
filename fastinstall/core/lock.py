"""Lock an environment for one run, or a cache entry for one writer; a lock never outlives its process.

An environment is locked with flock(2) on its directory, which leaves no file behind. If its filesystem cannot lock
directories (NFS), a lock file in the environment is used during the run; it excludes runs of all users and machines. If
that filesystem cannot lock files either, a lock file in the machine's temporary directory is used, which excludes only
other runs of the same user on this machine.
"""

import errno
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from fastinstall.core import foreign, signals
from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.messages import quote

_NO_LOCKS_HERE = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
_FILE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

LOCK_FILE = ".fastinstall.lock"
"""The lock file in an environment whose filesystem cannot lock directories; it exists during a run."""


@contextmanager
def lock_environment(prefix: Path) -> Iterator[None]:
    """Hold the lock of an environment while the block runs.

    Raises:
        RefusedError: another process holds the lock, or this user may not lock the environment.
        UndeterminedError: the directory cannot be opened.
    """
    with ExitStack() as held:
        with signals.defer_signals():
            _acquire(prefix, held)
        yield


@contextmanager
def reserve_file(file: Path, on_wait: Callable[[int | None], None]) -> Iterator[None]:
    """Wait for the lock of a file, and hold it while the block runs; the file is kept.

    Use it for work that another process may be doing already, and whose result can be shared. On a filesystem without
    locks, the function does not wait, and both processes do the work.

    Args:
        file: the lock file; created if missing, with the directories above it.
        on_wait: called before waiting, but not if the lock is free. The argument is the ID of the process that holds
            the lock, or None if unknown.

    Raises:
        KeyboardInterrupt: a signal interrupted the wait.
        OSError: the file cannot be created.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        with signals.defer_signals():
            descriptor = os.open(file, _FILE_FLAGS, 0o644)
            held.callback(os.close, descriptor)
        _wait(descriptor, on_wait)
        yield


def _acquire(prefix: Path, held: ExitStack) -> None:
    try:
        directory = os.open(prefix, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UndeterminedError(f"{prefix}: {error.strerror}", hint=f"ls -ld {quote(prefix)}") from error
    if _lock(directory, prefix):
        held.callback(os.close, directory)
        return
    descriptor = _lock_file_inside(prefix)
    if descriptor is None:
        descriptor = _substitute(prefix)
        if not _lock(descriptor, prefix):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str(prefix))
    held.callback(os.close, descriptor)
    held.callback((prefix / LOCK_FILE).unlink, missing_ok=True)


def _lock_file_inside(prefix: Path) -> int | None:
    """Lock the lock file in an environment, and return its descriptor; None if the filesystem cannot lock files.

    Every user with write access to the environment may lock the file.
    """
    while True:
        descriptor = _open_lock_file(prefix)
        with suppress(PermissionError):  # another user owns the file
            os.fchmod(descriptor, prefix.stat().st_mode & 0o666)
        if not _lock(descriptor, prefix):
            return None
        again = _open_lock_file(prefix)  # ask the NFS server: the result of stat might be cached
        same = os.path.samestat(os.fstat(descriptor), os.fstat(again))
        os.close(again)
        if same:
            return descriptor
        os.close(descriptor)  # the previous holder has removed the file


def _open_lock_file(prefix: Path) -> int:
    try:
        return os.open(prefix / LOCK_FILE, _FILE_FLAGS, 0o666)
    except OSError as error:
        hint = f"ls -ld {quote(prefix)} {quote(prefix / LOCK_FILE)}"
        raise RefusedError(f"{prefix}: cannot be locked: {error.strerror}", hint=hint) from error


def _lock(descriptor: int, prefix: Path) -> bool:
    """Lock a file or directory; if its filesystem cannot do that, close the descriptor and return False."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        status = os.fstat(descriptor)
        os.close(descriptor)
        if error.errno in _HELD:
            process = find_holder(status)
            who = f"process {process}" if process else "another process"
            hint = f"wait for it to end; to see what it is: ps -fp {process}" if process else "wait for it to end"
            raise RefusedError(f"{prefix}: {who} is working on this environment", hint=hint) from None
        if error.errno not in _NO_LOCKS_HERE:
            raise
        return False
    return True


def _wait(descriptor: int, on_wait: Callable[[int | None], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS_HERE:
            return
        if error.errno not in _HELD:
            raise
        on_wait(find_holder(os.fstat(descriptor)))
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _substitute(prefix: Path) -> int:
    name = hashlib.sha256(os.fsencode(os.path.realpath(prefix))).hexdigest()[:16]
    file = Path(tempfile.gettempdir(), f"fastinstall-{os.getuid()}-{name}.lock")
    return os.open(file, _FILE_FLAGS, 0o600)


def find_holder_in(locks: str, *, device: int, inode: int) -> int | None:
    """Return the ID of the process that holds a flock(2), according to the text of /proc/locks; None if unknown.

    On some filesystems, /proc/locks shows another device number than stat(2). A process then counts as the holder if it
    is the only one with a lock on the same inode number. Source: proc_locks(5).
    """
    rows = [words for words in map(str.split, locks.splitlines()) if words[1:2] == ["FLOCK"] and int(words[4]) > 0]
    candidates = [words for words in rows if int(words[5].rpartition(":")[2]) == inode]
    exact = [words for words in candidates if _parse_device(words[5]) == device]
    chosen = exact or candidates
    return int(chosen[0][4]) if len(chosen) == 1 else None


def find_holder(status: os.stat_result) -> int | None:
    """Return the ID of the process that holds a flock(2) on this file or directory; None if unknown."""
    return find_holder_in(foreign.text_or_empty("/proc/locks"), device=status.st_dev, inode=status.st_ino)


def _parse_device(column: str) -> int:
    major, minor, _ = column.split(":")
    return os.makedev(int(major, 16), int(minor, 16))
