"""What the system refuses while a run works in several places, in words: which disk it was, and how to use another.

An error about an open file names no path, and a program that fails on a full disk names one of its own: then the disk
with the least room is named.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.files import FULL, advice, find_nearest, reason
from fastinstall.core.messages import quote

MOVE_CACHE = "move the cache: XDG_CACHE_HOME=DIR fastinstall ... (FASTINSTALL_CACHE_DIR=DIR where that is set)"

_FULL = tuple(os.strerror(number) for number in FULL)


def explain_refusal(error: OSError, cache: Path, others: Iterable[Path]) -> FailedError:
    """Return what the kernel refused, with the place and what to do.

    Args:
        error: the kernel's.
        cache: our cache directory.
        others: directories that are written to, the likeliest first.
    """
    place = _find_place(error, cache, others)
    return FailedError(reason(error, place), hint=_advise(error, place, cache))


def explain_full_disk(error: FailedError, cache: Path, others: Iterable[Path]) -> FailedError:
    """Return a program's failure with the full disk as its cause, if its words say so; else the error itself."""
    if "df -h" in (error.hint or "") or not any(sign in line for line in _list_lines(error) for sign in _FULL):
        return error
    full = OSError(FULL[0], os.strerror(FULL[0]))
    found = explain_refusal(full, cache, others)
    return FailedError(found.message, hint=found.hint, details=(error.message, *error.details))


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


def _list_lines(error: FailedError) -> tuple[str, ...]:
    return (error.message, *error.details)


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


def _advise(error: OSError, place: Path, cache: Path) -> str:
    return advise_on_cache(error, place) if place.is_relative_to(cache) else advice(error, place)
