"""Directories as they were: remembered with their entries, modes and modification times, and restored."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.values import immutable

_STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY)
"""It has entries (rmdir(2) knows two names for that), is gone, is something else, or something is mounted there."""


@immutable
class Directory:
    """A directory whose entries change, as it was before.

    Attributes:
        path: relative to the prefix.
        mtime_ns: its modification time, nanoseconds since the epoch.
        names: a digest of its entries' names.
        mode: its permission bits.
    """

    path: str
    mtime_ns: int
    names: str
    mode: int


def record(prefix: Path, paths: Iterable[str]) -> tuple[Directory, ...]:
    """Look at directories below `prefix`; those that are not there are left out."""
    return tuple(_look(prefix, path) for path in dict.fromkeys(paths) if (prefix / path).is_dir())


def ancestors(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the directories on the way to paths, each once, a parent before its children.

    >>> ancestors(("lib/PIL/a.py", "lib/b.py"))
    ('.', 'lib', 'lib/PIL')
    """
    return tuple(dict.fromkeys(parent.as_posix() for path in paths for parent in reversed(PurePath(path).parents)))


def restore(prefix: Path, directories: Iterable[Directory]) -> None:
    """Give directories their modification time back where they hold the same names as then.

    Where somebody else has added or removed an entry since, the time stays: Python's importers
    trust it to notice what is there (importlib's FileFinder caches a listing by its mtime).
    """
    for directory in directories:
        path = prefix / directory.path
        if path.is_dir() and path.stat().st_mtime_ns != directory.mtime_ns and _digest_names(path) == directory.names:
            os.utime(path, ns=(path.stat().st_atime_ns, directory.mtime_ns))


def remake(prefix: Path, directories: Iterable[Directory]) -> None:
    """Make those that are gone, with their modes; parents come before children."""
    umask = os.umask(0)  # a mode that is given afterwards might never be given
    try:
        for directory in directories:
            if not (prefix / directory.path).is_dir():
                (prefix / directory.path).mkdir(mode=directory.mode)
                files.sync_directory((prefix / directory.path).parent)
    finally:
        os.umask(umask)


def remove_empty(prefix: Path, paths: Iterable[str]) -> None:
    """Take directories away, the last one first; those that somebody else's entries are in by now stay.

    Raises:
        OSError: as the kernel says of one that could go.
    """
    for path in reversed(tuple(paths)):
        if not (prefix / path).is_dir():
            continue  # a disk that is read-only refuses even to remove what is not there
        try:
            (prefix / path).rmdir()
        except OSError as error:
            if error.errno not in _STAYS:
                raise


def list_changed_directories(prefix: Path, paths: Iterable[str]) -> Iterator[Path]:
    """Yield the directories whose entries change when some are made or taken away: those that are there, each once."""
    found = dict.fromkeys((prefix / path).parent for path in paths)
    return (directory for directory in found if directory.is_dir())


def files_below(prefix: Path, pattern: str) -> Iterator[str]:
    """Yield all but directories that matches a pattern of `Path.glob` or lies below, relative to `prefix`."""
    for found in sorted(prefix.glob(pattern)):
        if found.is_symlink() or not found.is_dir():
            yield found.relative_to(prefix).as_posix()
        for directory, names, others in os.walk(found):
            links = (name for name in names if (Path(directory) / name).is_symlink())
            yield from ((Path(directory) / name).relative_to(prefix).as_posix() for name in (*others, *links))


def directories_below(prefix: Path, pattern: str) -> Iterator[str]:
    """Yield the directories that match a pattern or lie below one that does, a parent before its children."""
    tops = (found for found in sorted(prefix.glob(pattern)) if not found.is_symlink())
    return (Path(directory).relative_to(prefix).as_posix() for top in tops for directory, _, _ in os.walk(top))


def _look(prefix: Path, path: str) -> Directory:
    status = (prefix / path).stat()
    names = _digest_names(prefix / path)
    return Directory(path=path, mtime_ns=status.st_mtime_ns, names=names, mode=stat.S_IMODE(status.st_mode))


def _digest_names(directory: Path) -> str:
    names = sorted(os.fsencode(path.name) for path in directory.iterdir())
    return hashlib.sha256(b"\0".join(names)).hexdigest()[:16]
