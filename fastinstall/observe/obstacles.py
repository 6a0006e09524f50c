"""Find obstacles to the renames of a setup, before anything is downloaded: links, mounts, permissions, file flags."""

import array
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from fastinstall.journal.layout import ROOT, SHARE, TRANSACTIONS
from fastinstall.model.facts import ObstacleKind, SetupObstacle

_PACKAGE = "PIL"
_GET_FLAGS = 0x80086601
"""FS_IOC_GETFLAGS, for machines on which a C `long` has 64 bits. Source: ioctl_iflags(2)."""
_FIXED = 0x10 | 0x20
"""FS_IMMUTABLE_FL, FS_APPEND_FL."""


def find_obstacles(prefix: Path, site_packages: Path, names: Iterable[str]) -> tuple[SetupObstacle, ...]:
    """Return the obstacles to a setup, except an unwritable site-packages, which `Facts.writable` reports.

    Args:
        prefix: root of the environment.
        site_packages: the directory that contains PIL, or will contain it.
        names: the names of entries of site-packages that a setup replaces.
    """
    own = [prefix / path for path in (SHARE, ROOT, TRANSACTIONS)]
    entries = [path for path in dict.fromkeys(site_packages / name for name in names) if os.path.lexists(path)]
    found = (
        *_find_ways_out(prefix, (site_packages, *own)),
        *_find_occupied(site_packages / _PACKAGE, own),
        *_find_mounts(entries),
        *_find_unwritable(own, entries),
        *_find_fixed((site_packages, *filter(Path.is_dir, (prefix, *own)), *entries)),
        *_find_noexec(prefix),
    )
    return tuple(dict.fromkeys(found))


def _find_ways_out(prefix: Path, directories: Iterable[Path]) -> Iterator[SetupObstacle]:
    home = Path(os.path.realpath(prefix))
    for directory in directories:
        real = Path(os.path.realpath(directory))
        if not real.is_relative_to(home):
            yield SetupObstacle(kind=ObstacleKind.LEADS_OUT, place=directory, leads_to=str(real))
            return


def _find_occupied(package: Path, own: Iterable[Path]) -> Iterator[SetupObstacle]:
    for path in (package, *own):
        if os.path.lexists(path) and not path.is_dir():
            yield SetupObstacle(kind=ObstacleKind.IN_THE_WAY, place=path)


def _find_mounts(entries: Iterable[Path]) -> Iterator[SetupObstacle]:
    yield from (SetupObstacle(kind=ObstacleKind.MOUNTED, place=path) for path in entries if os.path.ismount(path))


def _find_unwritable(own: Iterable[Path], entries: Iterable[Path]) -> Iterator[SetupObstacle]:
    """Yield directories in which fastinstall's own cannot be created, and entries that rename(2) cannot move.

    rename(2) cannot move a directory that this user may not write to.
    """
    innermost = tuple(own)[-1]
    nearest = next(path for path in (innermost, *innermost.parents) if path.is_dir())
    directories = (path for path in entries if path.is_dir() and not path.is_symlink())
    for path in (nearest, *directories):
        if not os.access(path, os.W_OK | os.X_OK):
            yield SetupObstacle(kind=ObstacleKind.NOT_WRITABLE, place=path)


def _find_fixed(paths: Iterable[Path]) -> Iterator[SetupObstacle]:
    for path in paths:
        with suppress(OSError):  # the filesystem has no file flags
            status = path.lstat()
            if (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)) and _read_flags(path) & _FIXED:
                yield SetupObstacle(kind=ObstacleKind.IMMUTABLE, place=path)


def _read_flags(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        flags = array.array("l", [0])
        fcntl.ioctl(descriptor, _GET_FLAGS, flags)
    finally:
        os.close(descriptor)
    return flags[0]


def _find_noexec(prefix: Path) -> Iterator[SetupObstacle]:
    with suppress(OSError):
        if os.statvfs(prefix).f_flag & os.ST_NOEXEC:
            yield SetupObstacle(kind=ObstacleKind.NOEXEC, place=prefix)
