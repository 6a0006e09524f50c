"""The directory for the result of a build: writable, one writer at a time, restored on failure.

Other people's files lie there as well: what is not said to be ours is left alone. Not durable like the journal: a kill
leaves what was written, and the same command finishes it.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import files, refused_writes, signals
from fastinstall.core.codec import digest
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.wheel_cache import reserve_cache_key

_PACKAGES = (".whl", ".conda")
"""They come and stay as they are: their contents need not be remembered."""
_HALF = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")  # as `files.write_bytes` names them


def require_writable(directory: Path) -> None:
    """Check before a build that its result can be written.

    Raises:
        FailedError: it is a file, or not writable.
    """
    there = next(each for each in (directory, *directory.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise make_unwritable_error(directory, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(there, os.W_OK | os.X_OK):
        raise make_unwritable_error(directory, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def refuse_links(directory: Path, places: Iterable[str]) -> None:
    """Refuse a directory in which a build would write through a symbolic link; the directory itself may be one.

    Args:
        directory: that the user named.
        places: directories in it that are written, relative to it.

    Raises:
        RefusedError: one of them is a link.
    """
    for place in (directory / each for each in places):
        if place.is_symlink() and place != directory:
            raise RefusedError(
                f"{place}: is a link to {place.readlink()}, and a build would write there",
                hint=f"choose another directory for -o, or remove the link: rm {quote(place)}",
            )


@contextmanager
def lock_directory(session: Session, directory: Path) -> Iterator[None]:
    """Let only one of this user's runs write a directory at a time."""
    key = f"index-{digest(str(directory.resolve()))[:16]}"
    with reserve_cache_key(session.own_cache(), key, session.emit, "writes the same directory"):
        yield


@contextmanager
def explain_write_errors(directory: Path) -> Iterator[None]:
    """Turn what the kernel refuses in the block into a failure that names the directory.

    Raises:
        FailedError: instead of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise make_unwritable_error(directory, error) from error


def make_unwritable_error(directory: Path, error: OSError) -> FailedError:
    """Return the error that a directory for builds is not writable."""
    hint = refused_writes.advice(error, directory) if error.errno in refused_writes.FULL else "choose another directory"
    return FailedError(f"-o {directory}: cannot be written: {error.strerror}", hint=hint)


@contextmanager
def restore_on_failure(directory: Path, is_ours: Callable[[Path], bool]) -> Iterator[None]:
    """Give a directory back what it had, if the block fails or is interrupted.

    Args:
        directory: made by the block where it is missing.
        is_ours: whether a file is one that the block may have written.

    Raises:
        EnvironmentDamagedError: that was refused, too; says what is there now.
    """
    before = _read_files(directory, is_ours)
    above = tuple(each for each in (directory, *directory.parents) if not each.is_dir())
    inner = {path for path in directory.rglob("*") if path.is_dir()}
    try:
        yield
    except BaseException as failure:
        try:
            _restore(directory, before, is_ours)
            _remove_made(directory, inner, above)
        except OSError as error:
            raise EnvironmentDamagedError(
                f"{refused_writes.reason(error, directory)}: {directory} is written in part",
                hint=f"remove the cause (ls -la {quote(directory)}), then run the same command again: it finishes this",
            ) from failure
        raise


def discard_halves(directory: Path, endings: tuple[str, ...]) -> None:
    """Discard what a run left that could not even take back its half-written files.

    Args:
        directory: with all that is in it.
        endings: of the names of whole files.
    """
    for path in [*directory.rglob(".*")]:
        match = _HALF.fullmatch(path.name)
        if match is not None and not path.is_dir() and match["name"].endswith(endings):
            path.unlink()


def _read_files(directory: Path, is_ours: Callable[[Path], bool]) -> Mapping[Path, bytes | None]:
    paths = (path for path in directory.rglob("*") if is_ours(path) and path.is_file())
    return {path: None if path.suffix in _PACKAGES else path.read_bytes() for path in paths}


@signals.defer_signals()
def _restore(directory: Path, before: Mapping[Path, bytes | None], is_ours: Callable[[Path], bool]) -> None:
    for path in [*directory.rglob("*")]:
        if is_ours(path) and path.is_file() and path not in before:
            path.unlink()
    for path, content in before.items():
        if content is not None and (not path.is_file() or path.read_bytes() != content):
            files.write_bytes(path, content)


def _remove_made(directory: Path, inner: set[Path], above: tuple[Path, ...]) -> None:
    made = sorted((path for path in directory.rglob("*") if path.is_dir() and path not in inner), reverse=True)
    for path in (*made, *(each for each in above if each.is_dir())):
        if not any(path.iterdir()):
            path.rmdir()
