"""Find obstacles to a setup before anything is downloaded: links, mounts, permissions, owners, file flags."""

import array
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from fastinstall.core import foreign
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


_DEFAULT = "system.posix_acl_default"
_OF_OTHERS = stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH


def find_hidden_entries(site_packages: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Return entries of site-packages that other users may not read, although they may read the other packages.

    Permissions for a file's group are compared only if it is the group of site-packages: who belongs to other groups is
    not known. Nothing is returned if site-packages has a default access control list, which overrides permission bits.

    Args:
        site_packages: the directory.
        names: names of top-level entries of site-packages.

    Returns:
        Those of `names` that are hidden or contain hidden files.
    """
    chosen = dict.fromkeys(names)
    try:
        status = site_packages.stat()
    except OSError:
        return ()
    granted = stat.S_IMODE(status.st_mode) & _OF_OTHERS & _find_granted_elsewhere(site_packages, frozenset(chosen))
    if not granted or _has_default_list(site_packages):  # an access control list overrides the bits
        return ()
    return tuple(name for name in chosen if _is_hidden(site_packages / name, granted, status.st_gid))


def find_entries_of_others(site_packages: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Return entries that the owner of site-packages cannot replace or remove, because another user owns parts of them.

    Args:
        site_packages: the directory.
        names: names of top-level entries of site-packages.

    Returns:
        Those of `names`; empty if root owns site-packages.
    """
    try:
        owner = site_packages.stat().st_uid
    except OSError:
        return ()
    return tuple(
        name for name in dict.fromkeys(names) if owner != 0 and _find_owner(site_packages / name, owner) != owner
    )


def _find_granted_elsewhere(site_packages: Path, names: frozenset[str]) -> int:
    """Return the permission bits that the directories of other packages have, combined by OR.

    If there is no other package, return all bits of `_OF_OTHERS`.
    """
    found = None
    for name in foreign.list_names(site_packages):
        if name in names or name == "__pycache__":
            continue
        with suppress(OSError):
            mode = (site_packages / name).stat().st_mode
            if stat.S_ISDIR(mode):
                found = (found or 0) | mode
                if found & _OF_OTHERS == _OF_OTHERS:
                    break
    return _OF_OTHERS if found is None else found


def _is_hidden(path: Path, granted: int, group: int) -> bool:
    return any(_lacks(status, granted, group) for status in _walk(path))


def _lacks(status: os.stat_result, granted: int, group: int) -> bool:
    needed = granted if stat.S_ISDIR(status.st_mode) else granted & 0o044
    if status.st_gid != group:
        needed &= stat.S_IRWXO
    return stat.S_IMODE(status.st_mode) & needed != needed


def _find_owner(path: Path, owner: int) -> int:
    """Return the first owner, other than `owner`, of a path or anything below it; `owner` if there is no other."""
    return next((status.st_uid for status in _walk(path) if status.st_uid != owner), owner)


def _walk(path: Path) -> Iterator[os.stat_result]:
    """Yield the `stat` results of a path and everything below it, except symbolic links; nothing for a missing path."""
    with suppress(OSError):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return
        yield status
        if stat.S_ISDIR(status.st_mode):
            for name in foreign.list_names(path):
                yield from _walk(path / name)


def _has_default_list(directory: Path) -> bool:
    try:
        return bool(os.getxattr(directory, _DEFAULT))
    except OSError:
        return False
