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
    return tuple(dict.fromkeys(_list_obstacles(prefix, site_packages, own, entries)))


def _list_obstacles(prefix: Path, site_packages: Path, own: list[Path], entries: list[Path]) -> Iterator[SetupObstacle]:
    """Yield the obstacles that `find_obstacles` returns; an obstacle may be repeated.

    Args:
        prefix: root of the environment.
        site_packages: the directory that contains PIL, or will contain it.
        own: fastinstall's directories in the environment, the innermost last; they may be missing.
        entries: existing entries of site-packages that a setup replaces. rename(2) cannot move a directory that this
            user may not write to.
    """
    home = Path(os.path.realpath(prefix))
    targets = ((directory, Path(os.path.realpath(directory))) for directory in (site_packages, *own))
    outside = next((pair for pair in targets if not pair[1].is_relative_to(home)), None)
    if outside is not None:
        yield SetupObstacle(kind=ObstacleKind.LEADS_OUT, place=outside[0], leads_to=str(outside[1]))
    for path in (site_packages / _PACKAGE, *own):
        if os.path.lexists(path) and not path.is_dir():
            yield SetupObstacle(kind=ObstacleKind.IN_THE_WAY, place=path)
    yield from (SetupObstacle(kind=ObstacleKind.MOUNTED, place=path) for path in entries if os.path.ismount(path))
    nearest = next(path for path in (own[-1], *own[-1].parents) if path.is_dir())
    for path in (nearest, *(path for path in entries if path.is_dir() and not path.is_symlink())):
        if not os.access(path, os.W_OK | os.X_OK):
            yield SetupObstacle(kind=ObstacleKind.NOT_WRITABLE, place=path)
    for path in (site_packages, *filter(Path.is_dir, (prefix, *own)), *entries):
        with suppress(OSError):  # some filesystems have no file flags
            mode = path.lstat().st_mode
            if (stat.S_ISDIR(mode) or stat.S_ISREG(mode)) and _read_flags(path) & _FIXED:
                yield SetupObstacle(kind=ObstacleKind.IMMUTABLE, place=path)
    with suppress(OSError):
        if os.statvfs(prefix).f_flag & os.ST_NOEXEC:
            yield SetupObstacle(kind=ObstacleKind.NOEXEC, place=prefix)


def _read_flags(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        flags = array.array("l", [0])
        fcntl.ioctl(descriptor, _GET_FLAGS, flags)
    finally:
        os.close(descriptor)
    return flags[0]


_DEFAULT = "system.posix_acl_default"
_OF_OTHERS = stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH


def find_hidden_entries(site_packages: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Return entries of site-packages that other users may not read, although they may read the other packages.

    Group permissions are compared only for files that have the group of site-packages: the members of other groups are
    not known. Nothing is returned if site-packages has a default access control list, which overrides permission bits.

    Args:
        site_packages: the directory.
        names: names of top-level entries of site-packages.

    Returns:
        The names of entries that are hidden or contain hidden files.
    """
    chosen = dict.fromkeys(names)
    try:
        status = site_packages.stat()
    except OSError:
        return ()
    granted = stat.S_IMODE(status.st_mode) & _OF_OTHERS & _find_granted_elsewhere(site_packages, frozenset(chosen))
    if not granted or _has_default_list(site_packages):  # an access control list overrides the bits
        return ()
    group = status.st_gid
    return tuple(name for name in chosen if any(_lacks(each, granted, group) for each in _walk(site_packages / name)))


def find_entries_of_others(site_packages: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Return entries that the owner of site-packages cannot replace or remove, because another user owns parts of them.

    Args:
        site_packages: the directory.
        names: names of top-level entries of site-packages.

    Returns:
        The names of these entries; empty if root owns site-packages.
    """
    try:
        owner = site_packages.stat().st_uid
    except OSError:
        return ()
    entries = dict.fromkeys(names) if owner != 0 else ()
    return tuple(name for name in entries if any(each.st_uid != owner for each in _walk(site_packages / name)))


def _find_granted_elsewhere(site_packages: Path, names: frozenset[str]) -> int:
    """Return the permission bits that any directory in site-packages has, except the directories in `names`.

    If there is no such directory, return all bits of `_OF_OTHERS`.
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


def _lacks(status: os.stat_result, granted: int, group: int) -> bool:
    needed = granted if stat.S_ISDIR(status.st_mode) else granted & 0o044
    if status.st_gid != group:
        needed &= stat.S_IRWXO
    return stat.S_IMODE(status.st_mode) & needed != needed


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
