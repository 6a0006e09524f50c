"""Show the contents of fastinstall's cache, and remove them.

Everything in the cache can be downloaded or made again; no rollback needs it.
"""

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError, RefusedError, UsageError
from fastinstall.core.refused_writes import advise_on_cache, reason
from fastinstall.core.temporary_directories import discard_abandoned, list_abandoned, temporary_directory
from fastinstall.model.results import PURPOSES, CachePart, CacheSurvey
from fastinstall.observe.session import Session

_TEMPORARY = "tmp"
_BLOCK = 512  # bytes per unit of st_blocks, according to stat(2)


def survey_cache(session: Session, names: Sequence[str] = ()) -> CacheSurvey:
    """Return the contents of the cache, and their disk usage.

    Args:
        session: the session of this run, for the path of the cache.
        names: the directories of the cache to look at; empty for all.

    Raises:
        UsageError: one of `names` is not the name of a directory in the cache.

    Example:
        print(survey_cache(session).size)
    """
    cache = session.directories.cache
    unknown = [name for name in names if name not in PURPOSES]
    if unknown:
        raise UsageError(f"the cache has no {unknown[0]!r}", hint=f"it has: {', '.join(PURPOSES)}")
    found = []
    for name, purpose in PURPOSES.items():
        if names and name not in names:
            continue
        directory = cache / name
        link = f"; a link to {os.path.realpath(directory)}" if directory.is_symlink() else ""
        measured = list_abandoned(directory) if name == _TEMPORARY else (directory,)
        found.append(CachePart(name=name, purpose=purpose + link, disk_bytes=_measure(measured)))
    parts = tuple(sorted((part for part in found if part.disk_bytes), key=lambda part: -part.disk_bytes))
    return CacheSurvey(directory=str(cache), parts=parts, disk_bytes=sum(part.disk_bytes for part in parts))


def clear_cache(session: Session, names: Sequence[str] = ()) -> CacheSurvey:
    """Remove the contents of the cache; environments, and the files needed to undo their setups, are not touched.

    Args:
        session: the session of this run, for the path of the cache.
        names: the directories of the cache to remove; empty for all.

    Returns:
        The directories that this run removed, without those that another run removed at the same time.

    Raises:
        UsageError: one of `names` is not the name of a directory in the cache.
        RefusedError: another run is using the cache; nothing was removed.
        FailedError: the cache cannot be written.

    Example:
        print(clear_cache(session, ["toolchains"]).size)
    """
    before = survey_cache(session, names)
    cache, gone = Path(before.directory), before.parts
    if before.parts:
        _refuse_while_used(cache)
        try:
            gone = tuple(_remove_parts(cache, before.parts))
        except OSError as error:
            message = f"{reason(error, cache)}: the cache cannot be emptied"
            raise FailedError(message, hint=advise_on_cache(error, cache)) from error
    size = sum(part.disk_bytes for part in gone)
    return CacheSurvey(directory=before.directory, parts=gone, disk_bytes=size, removed=True)


def _remove_parts(cache: Path, parts: Sequence[CachePart]) -> Iterator[CachePart]:
    """Remove directories of the cache; yield those that no other run had removed before."""
    discard_abandoned(list_abandoned(cache / _TEMPORARY))
    with temporary_directory("clear", within=cache / _TEMPORARY) as space:
        for part in parts:
            if part.name == _TEMPORARY or _take_away(cache / part.name, space / part.name):
                yield part
        for path in space.iterdir():
            files.discard(path)


def _take_away(part: Path, aside: Path) -> bool:
    """Move a directory of the cache to `aside`; return False if it does not exist.

    A run that starts at the same time then finds the directory either complete or absent. If the directory is a link or
    a mount point, only its contents are moved.
    """
    try:
        if not part.is_symlink():
            os.rename(part, aside)
            return True
    except FileNotFoundError:  # another run is clearing the cache, too
        return False
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
    with temporary_directory("clear", within=part) as space:
        for path in part.iterdir():
            if path != space:
                with suppress(FileNotFoundError):
                    os.rename(path, space / path.name)
    return True


def _refuse_while_used(cache: Path) -> None:
    for path in _list_work(cache):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # the run that used this path has just ended
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{cache}: another run works with it, and holds {path.relative_to(cache)}"
            raise RefusedError(message, hint="try again when that has ended") from None
        finally:
            os.close(descriptor)


def _list_work(cache: Path) -> Iterator[Path]:
    """Yield the paths that a run may have locked: temporary directories and lock files."""
    for name in ("tmp", "downloads"):
        yield from (path for path in (cache / name).glob("fastinstall-*") if path.is_dir())
    yield from (path for path in (cache / "locks").glob("**/*") if path.is_file())


def _measure(directories: Iterable[Path]) -> int:
    """Return the disk usage of directories in bytes; links are not followed, and unreadable entries count as 0."""
    taken: dict[tuple[int, int], int] = {}
    for path in (path for directory in directories for path in directory.rglob("*")):
        with suppress(OSError):  # the entry may have been removed just now
            status = path.lstat()
            taken[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(taken.values())
