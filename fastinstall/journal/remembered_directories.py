"""Record directories (names of entries, modes, modification times) before a change, and restore them after an undo."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.values import immutable

_STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY)
"""Errors of rmdir(2) to ignore: the path is not empty (two codes), missing, no directory, or a mount point."""


@immutable
class Directory:
    """A directory as it was before its entries changed.

    Attributes:
        path: relative to the prefix.
        mtime_ns: modification time, nanoseconds since the epoch.
        names: digest of the names of the entries.
        mode: permission bits.
    """

    path: str
    mtime_ns: int
    names: str
    mode: int


def record(prefix: Path, paths: Iterable[str]) -> tuple[Directory, ...]:
    """Record the state of directories below `prefix`; missing ones are left out."""
    found = []
    for path in dict.fromkeys(paths):
        if (prefix / path).is_dir():
            status, names = (prefix / path).stat(), _digest_names(prefix / path)
            mode = stat.S_IMODE(status.st_mode)
            found.append(Directory(path=path, mtime_ns=status.st_mtime_ns, names=names, mode=mode))
    return tuple(found)


def ancestors(paths: Iterable[str]) -> tuple[str, ...]:
    """Return all parent directories of some paths, each once, a parent before its children.

    >>> ancestors(("lib/PIL/a.py", "lib/b.py"))
    ('.', 'lib', 'lib/PIL')
    """
    return tuple(dict.fromkeys(parent.as_posix() for path in paths for parent in reversed(PurePath(path).parents)))


def restore(prefix: Path, directories: Iterable[Directory]) -> None:
    """Restore the modification times of directories that have the same entry names as recorded.

    If an entry was added or removed since, the directory keeps its present time: Python's importers rely on the time
    to notice changes (importlib's FileFinder caches a listing by its mtime).
    """
    for directory in directories:
        path = prefix / directory.path
        if path.is_dir() and path.stat().st_mtime_ns != directory.mtime_ns and _digest_names(path) == directory.names:
            os.utime(path, ns=(path.stat().st_atime_ns, directory.mtime_ns))


def remake(prefix: Path, directories: Iterable[Directory]) -> None:
    """Create missing directories again with their recorded modes; `directories` has parents before their children."""
    umask = os.umask(0)  # set the mode on creation, since a kill could come before a chmod
    try:
        for directory in directories:
            if not (prefix / directory.path).is_dir():
                (prefix / directory.path).mkdir(mode=directory.mode)
                files.sync_directory((prefix / directory.path).parent)
    finally:
        os.umask(umask)


def remove_empty(prefix: Path, paths: Iterable[str]) -> None:
    """Remove directories, the last one of `paths` first; directories that are not empty are kept.

    Raises:
        OSError: an empty directory could not be removed.
    """
    for path in reversed(tuple(paths)):
        if not (prefix / path).is_dir():
            continue  # a read-only filesystem reports EROFS even for a missing directory
        try:
            (prefix / path).rmdir()
        except OSError as error:
            if error.errno not in _STAYS:
                raise


def files_below(prefix: Path, patterns: Iterable[str]) -> Iterator[str]:
    """Yield all non-directories that match a `Path.glob` pattern or are below a match, relative to `prefix`."""
    for found in (path for pattern in patterns for path in sorted(prefix.glob(pattern))):
        if found.is_symlink() or not found.is_dir():
            yield found.relative_to(prefix).as_posix()
        for directory, names, others in os.walk(found):
            links = (name for name in names if (Path(directory) / name).is_symlink())
            yield from ((Path(directory) / name).relative_to(prefix).as_posix() for name in (*others, *links))


def directories_below(prefix: Path, patterns: Iterable[str]) -> Iterator[str]:
    """Yield the directories that match a pattern or are below a match, relative to `prefix`, parents first."""
    matches = (path for pattern in patterns for path in sorted(prefix.glob(pattern)))
    tops = (path for path in matches if not path.is_symlink())
    return (Path(directory).relative_to(prefix).as_posix() for top in tops for directory, _, _ in os.walk(top))


def _digest_names(directory: Path) -> str:
    names = sorted(os.fsencode(path.name) for path in directory.iterdir())
    return hashlib.sha256(b"\0".join(names)).hexdigest()[:16]
