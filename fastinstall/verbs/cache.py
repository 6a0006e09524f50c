"""Look at fastinstall's cache, and empty it. Whatever is in it can be fetched or made again; nothing that undoes is."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError, RefusedError, UsageError
from fastinstall.core.refused_writes import advise_on_cache, reason
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.model.cache_survey import PURPOSES, CachePart, CacheSurvey
from fastinstall.observe.session import Session

_BLOCK = 512  # bytes of st_blocks: stat(2)


def survey_cache(session: Session, names: Sequence[str] = ()) -> CacheSurvey:
    """Return what the cache holds, and how much of the disk that takes.

    Args:
        session: says where the cache is.
        names: of its directories; all of them if empty.

    Raises:
        UsageError: no directory of the cache has one of the names.

    Example:
        print(survey_cache(session).size)
    """
    cache = session.directories.cache
    unknown = [name for name in names if name not in PURPOSES]
    if unknown:
        raise UsageError(f"the cache has no {unknown[0]!r}", hint=f"it has: {', '.join(PURPOSES)}")
    found = [
        CachePart(name=name, purpose=purpose, disk_bytes=_measure(cache / name))
        for name, purpose in PURPOSES.items()
        if name in (names or PURPOSES)
    ]
    parts = tuple(sorted((part for part in found if part.disk_bytes), key=lambda part: -part.disk_bytes))
    return CacheSurvey(directory=str(cache), parts=parts, disk_bytes=sum(part.disk_bytes for part in parts))


def clear_cache(session: Session, names: Sequence[str] = ()) -> CacheSurvey:
    """Remove what the cache holds; environments, and what undoes their setups, stay as they are.

    Args:
        session: says where the cache is.
        names: of its directories; all of them if empty.

    Returns:
        What was removed.

    Raises:
        UsageError: no directory of the cache has one of the names.
        RefusedError: another run works with the cache; nothing was removed.
        FailedError: it cannot be written.

    Example:
        print(clear_cache(session, ["toolchains"]).size)
    """
    before = survey_cache(session, names)
    cache = Path(before.directory)
    if before.parts:
        _refuse_while_used(cache)
        try:
            with temporary_directory("clear", within=cache / "tmp") as space:
                for part in before.parts:
                    # A run that begins now finds a directory whole, or finds none.
                    os.rename(cache / part.name, space / part.name)
                for part in before.parts:
                    files.discard(space / part.name)
        except OSError as error:
            message = f"{reason(error, cache)}: the cache cannot be emptied"
            raise FailedError(message, hint=advise_on_cache(error, cache)) from error
    return CacheSurvey(directory=before.directory, parts=before.parts, disk_bytes=before.disk_bytes, removed=True)


def _refuse_while_used(cache: Path) -> None:
    for path in _list_work(cache):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # the run has just ended
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{cache}: another run works with it, and holds {path.relative_to(cache)}"
            raise RefusedError(message, hint="try again when that has ended") from None
        finally:
            os.close(descriptor)


def _list_work(cache: Path) -> Iterator[Path]:
    """Yield what a run locks while it makes something: its temporary directories, and the locks of what is made."""
    for name in ("tmp", "downloads"):
        yield from (path for path in (cache / name).glob("fastinstall-*") if path.is_dir())
    yield from (path for path in (cache / "locks").glob("**/*") if path.is_file())


def _measure(directory: Path) -> int:
    """Return the bytes of the blocks below a directory; links are not followed, unreadable entries count nothing."""
    taken: dict[tuple[int, int], int] = {}
    for path in directory.rglob("*"):
        with suppress(OSError):  # it has just gone away
            status = path.lstat()
            taken[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(taken.values())
