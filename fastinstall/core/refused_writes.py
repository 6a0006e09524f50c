"""Explain why the kernel refused a write: the path, the reason, and what to do.

An OSError about an open file has no path. For a full disk, the message then names one of the directories that the run
writes to: the one whose filesystem has the least free space.
"""

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.messages import quote

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The kernel's errors for a full disk or an exceeded quota."""

_LOOK: Mapping[int, str] = {
    errno.ENOSPC: "free some space, then run the same command again: df -h {place} && df -i {place}",
    errno.EDQUOT: "free some space, then run the same command again: quota -s",
    errno.EROFS: "check how it is mounted: findmnt -T {place}",
    errno.EIO: "check what the kernel says about the disk: dmesg | tail",
    errno.EMFILE: "check how many files may be open: ulimit -n",
    errno.ENFILE: "check how many files may be open: cat /proc/sys/fs/file-nr",
}

_OTHERWISE = "check what it is and who owns it: ls -ld {place}"

MOVE_CACHE = "move the cache: XDG_CACHE_HOME=DIR fastinstall ... (FASTINSTALL_CACHE_DIR=DIR where that is set)"


def reason(error: OSError, place: Path) -> str:
    """Return where the kernel refused an operation, and why: "/env/share: No space left on device".

    Args:
        error: the kernel's error; it may have no path.
        place: the path for the message if the error has none.
    """
    names = (error.filename, error.filename2)
    where = " -> ".join(str(name) for name in names if name and not isinstance(name, int))
    return f"{where or place}: {error.strerror or error}"


def advice(error: OSError, place: Path) -> str:
    """Return a hint with a pasteable command that shows the cause of an error.

    Args:
        error: the kernel's error, with one path, two paths, or none.
        place: the path to examine if the error has none.
    """
    named = error.filename2 or error.filename  # if there are two paths, the second is written to
    path = Path(named) if isinstance(named, str) and named.startswith("/") else place
    return _LOOK.get(error.errno or 0, _OTHERWISE).format(place=quote(find_nearest(path)))


def find_nearest(path: Path) -> Path:
    """Return a path if it exists, otherwise its nearest existing parent."""
    return next((each for each in (path, *path.parents) if os.access(each, os.F_OK)), path)


def explain_refusal(error: OSError, cache: Path, others: Iterable[Path]) -> FailedError:
    """Convert an error of the kernel to a `FailedError` with the path concerned and a hint.

    Args:
        error: the kernel's error.
        cache: our cache directory; for errors below it, the hint also says how to move the cache.
        others: other directories that the run writes to, the most likely place of the error first.
    """
    place = _find_place(error, cache, others)
    hint = advise_on_cache(error, place) if place.is_relative_to(cache) else advice(error, place)
    return FailedError(reason(error, place), hint=hint)


def advise_on_cache(error: OSError, cache: Path) -> str:
    """Return a hint for an error in the cache directory: the result of `advice`, and how to move the cache."""
    return f"{advice(error, cache)}; or {MOVE_CACHE}"


def refuse_noexec(directory: Path, otherwise: str) -> None:
    """Refuse a directory on a filesystem from which no program can be run and no library loaded.

    Args:
        directory: the directory in which programs or libraries will be put; it need not exist yet.
        otherwise: the alternative that the hint offers.

    Raises:
        RefusedError: the filesystem is mounted noexec.
    """
    nearest = find_nearest(directory)
    if os.statvfs(nearest).f_flag & os.ST_NOEXEC:
        raise RefusedError(
            f"{directory}: mounted noexec: no program and no library there can be run",
            hint=f"check how it is mounted: findmnt -T {quote(nearest)}; or {otherwise}",
        )


def refuse_forbidden_place(directory: Path, problem: str, otherwise: str) -> None:
    """Refuse a directory that this user cannot write to, or cannot create.

    Args:
        directory: the directory to write to; it need not exist yet.
        problem: what cannot be done without write access, for the message.
        otherwise: the alternative that the hint offers.

    Raises:
        RefusedError: the directory's filesystem is read-only, or this user lacks the permission.
    """
    nearest = find_nearest(directory)
    if os.access(nearest, os.W_OK | os.X_OK):
        return
    read_only = os.statvfs(nearest).f_flag & os.ST_RDONLY
    refused = errno.EROFS if read_only else errno.EACCES
    error = OSError(refused, os.strerror(refused), str(nearest))
    raise RefusedError(f"{directory}: {error.strerror}: {problem}", hint=f"{advice(error, nearest)}; or {otherwise}")


def refuse_unusable_cache(cache: Path) -> None:
    """Refuse a cache directory that a build could not use, before anything is downloaded.

    Args:
        cache: our cache directory; it need not exist yet.

    Raises:
        RefusedError: the cache's filesystem is read-only or mounted noexec, or this user cannot write to it.
    """
    refuse_noexec(cache, MOVE_CACHE)
    refuse_forbidden_place(cache, "nothing can be built there", MOVE_CACHE)


def _find_place(error: OSError, cache: Path, others: Iterable[Path]) -> Path:
    named = error.filename2 or error.filename
    if isinstance(named, str):
        return Path(named)
    places = (*others, cache)
    return min(places, key=_measure_room) if error.errno in FULL else places[0]


def _measure_room(place: Path) -> int:
    try:
        room = os.statvfs(find_nearest(place))
    except OSError:  # the place has vanished, so nothing was being written to it
        return 1 << 62
    return room.f_bavail * room.f_frsize
