"""Explain a refused write: where, why, which disk is full, and what to do.

An error about an open file names no path: then the disk with the least room is named.
"""

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.messages import quote

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the kernel says where there is no room."""

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
    """Say where the kernel refused, and why: "/env/share: No space left on device".

    Args:
        error: the kernel's; one about an open file names no path.
        place: stands for the path then.
    """
    names = (error.filename, error.filename2)
    where = " -> ".join(str(name) for name in names if name and not isinstance(name, int))
    return f"{where or place}: {error.strerror or error}"


def advice(error: OSError, place: Path) -> str:
    """Return a hint: what to look at, with a command that can be pasted.

    Args:
        error: what the kernel raised, with one path, two, or none.
        place: there, and on the filesystem in question where the error names no path.
    """
    named = error.filename2 or error.filename  # of two, the one that was to be written
    path = Path(named) if isinstance(named, str) and named.startswith("/") else place
    return _LOOK.get(error.errno or 0, _OTHERWISE).format(place=quote(find_nearest(path)))


def find_nearest(path: Path) -> Path:
    """Return a path, or what is there on the way to it."""
    return next((each for each in (path, *path.parents) if os.access(each, os.F_OK)), path)


def explain_refusal(error: OSError, cache: Path, others: Iterable[Path]) -> FailedError:
    """Return what the kernel refused, with the place and what to do.

    Args:
        error: what the kernel raised.
        cache: our cache directory, for which another advice is given.
        others: directories that are written to, the likeliest first.
    """
    place = _find_place(error, cache, others)
    hint = advise_on_cache(error, place) if place.is_relative_to(cache) else advice(error, place)
    return FailedError(reason(error, place), hint=hint)


def advise_on_cache(error: OSError, cache: Path) -> str:
    """Return a hint for what the kernel refused in our cache."""
    return f"{advice(error, cache)}; or {MOVE_CACHE}"


def refuse_noexec(directory: Path, otherwise: str) -> None:
    """Refuse a directory, there or to be made, on a filesystem from which nothing can be run or loaded.

    Args:
        directory: where programs or libraries are to lie.
        otherwise: the hint's other way out.

    Raises:
        RefusedError: it is mounted noexec.
    """
    nearest = find_nearest(directory)
    if os.statvfs(nearest).f_flag & os.ST_NOEXEC:
        raise RefusedError(
            f"{directory}: mounted noexec: no program and no library there can be run",
            hint=f"check how it is mounted: findmnt -T {quote(nearest)}; or {otherwise}",
        )


def refuse_forbidden_place(directory: Path, problem: str, otherwise: str) -> None:
    """Refuse a directory, existing or not, that this user cannot write to or make.

    Args:
        directory: to be written to.
        problem: what is impossible then, for the message.
        otherwise: the hint's other way out.

    Raises:
        RefusedError: its filesystem is read-only, or this user lacks the right.
    """
    nearest = find_nearest(directory)
    if os.access(nearest, os.W_OK | os.X_OK):
        return
    read_only = os.statvfs(nearest).f_flag & os.ST_RDONLY
    refused = errno.EROFS if read_only else errno.EACCES
    error = OSError(refused, os.strerror(refused), str(nearest))
    raise RefusedError(f"{directory}: {error.strerror}: {problem}", hint=f"{advice(error, nearest)}; or {otherwise}")


def refuse_unusable_cache(cache: Path) -> None:
    """Refuse a cache directory, existing or not, that a build could not use, before anything is downloaded.

    Raises:
        RefusedError: it is on a filesystem that is read-only or mounted noexec, or this user cannot write to it.
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
    except OSError:  # it went away: not a place that is written to
        return 1 << 62
    return room.f_bavail * room.f_frsize
