"""The directory for the result of a build: writable, one writer at a time, written aside before anything is replaced.

Other people's files are in it as well: only named files are replaced. Not durable like the journal: a kill between two
renames leaves the first ones, and the same command finishes them.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from fastinstall.core import files, refused_writes, signals, temporary_directories
from fastinstall.core.codec import digest
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.wheel_cache import reserve_cache_key


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


class StagedFiles:
    """Files of a directory that are written aside first, and then put in place by renames, in the order of the calls.

    Args:
        directory: the directory of the files.
        space: an empty directory on the same filesystem.
    """

    def __init__(self, directory: Path, space: Path) -> None:
        self._directory = directory
        self._space = space
        self._written: dict[Path, Path] = {}
        self._needless: list[Path] = []

    def write(self, name: str, content: bytes, *, durable: bool = True) -> Path:
        """Write a file aside, unless the directory has it with this content, so that web caches stay valid.

        Args:
            name: its path, relative to the directory.
            content: of the whole file.
            durable: whether it survives a power loss.

        Returns:
            Where the content is for now.

        Raises:
            FailedError: it cannot be written.
        """
        target, fresh = self._directory / name, self._space / name
        with explain_write_errors(self._directory):
            if target.is_file() and target.read_bytes() == content:
                return target
            files.write_bytes(fresh, content, durable=durable)
        self._written[fresh] = target
        return fresh

    def remove(self, path: Path) -> None:
        """Remove a file when the others are in place, and its directory if that is empty then."""
        self._needless.append(path)

    @signals.defer_signals()
    def put_in_place(self) -> None:
        """Rename each file into its place.

        Raises:
            FailedError: the first rename failed, so nothing has changed.
            EnvironmentDamagedError: a later one failed.
        """
        changed = False
        try:
            for fresh, target in self._written.items():
                files.make_directories(target.parent)
                os.replace(fresh, target)
                changed = True
            for directory in dict.fromkeys(target.parent for target in self._written.values()):
                files.sync_directory(directory)
            for path in self._needless:
                files.discard(path)
                with suppress(OSError):
                    path.parent.rmdir()
        except OSError as error:
            if not changed:
                raise make_unwritable_error(self._directory, error) from error
            directory = self._directory
            raise EnvironmentDamagedError(
                f"{refused_writes.reason(error, directory)}: {directory} is written in part",
                hint=f"remove the cause (ls -la {quote(directory)}), then run the same command again: it finishes this",
            ) from error


@contextmanager
def replace_files(directory: Path) -> Iterator[StagedFiles]:
    """Have the block write files of a directory aside, and put them in place if it succeeds.

    If nothing in the directory can be removed any more, a directory `fastinstall-new-*` remains; the next run removes
    it.

    Args:
        directory: created if missing; if the block fails, it is removed again.

    Raises:
        FailedError: it cannot be written; nothing in it has changed.
        EnvironmentDamagedError: it was written in part.
    """
    missing = [each for each in (directory, *directory.parents) if not each.is_dir()]
    with ExitStack() as stack:
        for each in reversed(missing):
            stack.callback(_remove_if_empty, each)
        with explain_write_errors(directory):
            space = stack.enter_context(temporary_directories.temporary_directory("new", within=directory))
        staged = StagedFiles(directory, space)
        yield staged
        staged.put_in_place()


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()
