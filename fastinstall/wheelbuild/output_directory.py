"""Write the results of builds into a directory of the user, with one writer at a time.

Files are first written into a temporary directory, and then renamed. Other files in the directory stay. The renames are
not one atomic step: if the process is killed between two of them, the directory is only partly updated. Running the
same command again completes it.
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
    """Check before a build that its result can be written into a directory.

    Raises:
        FailedError: the directory is a file, or not writable.
    """
    there = next(each for each in (directory, *directory.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise make_unwritable_error(directory, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(there, os.W_OK | os.X_OK):
        raise make_unwritable_error(directory, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def refuse_links(directory: Path, places: Iterable[str]) -> None:
    """Raise if a build would write through a symbolic link in a directory; the directory itself may be a link.

    Args:
        directory: the directory that the user named.
        places: subdirectories that are written, relative to `directory`.

    Raises:
        RefusedError: one of the subdirectories is a link.
    """
    for place in (directory / each for each in places):
        if place.is_symlink() and place != directory:
            raise RefusedError(
                f"{place}: is a link to {place.readlink()}, and a build would write there",
                hint=f"choose another directory for -o, or remove the link: rm {quote(place)}",
            )


@contextmanager
def lock_directory(session: Session, directory: Path) -> Iterator[None]:
    """Lock a directory during the block, so that only one of this user's runs writes to it at a time."""
    key = f"index-{digest(str(directory.resolve()))[:16]}"
    with reserve_cache_key(session.own_cache(), key, session.emit, "writes the same directory"):
        yield


@contextmanager
def explain_write_errors(directory: Path) -> Iterator[None]:
    """Turn each OSError of the block into an error that names the directory.

    Raises:
        FailedError: instead of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise make_unwritable_error(directory, error) from error


def make_unwritable_error(directory: Path, error: OSError) -> FailedError:
    """Return an error saying that an output directory cannot be written."""
    hint = refused_writes.advice(error, directory) if error.errno in refused_writes.FULL else "choose another directory"
    return FailedError(f"-o {directory}: cannot be written: {error.strerror}", hint=hint)


class StagedFiles:
    """Files in a temporary directory, to be renamed to their final paths in the order of the `write` calls.

    Args:
        directory: the directory to which the final paths are relative.
        space: an empty temporary directory on the same filesystem.
    """

    def __init__(self, directory: Path, space: Path) -> None:
        self._directory = directory
        self._space = space
        self._written: dict[Path, Path] = {}
        self._needless: list[Path] = []

    def write(self, name: str, content: bytes, *, durable: bool = True) -> Path:
        """Stage a file, unless the directory has it with the same content: an untouched file stays valid in web caches.

        Args:
            name: final path of the file, relative to the directory.
            content: the whole content.
            durable: whether the file must survive a power loss.

        Returns:
            The path of a file with the content: the staged file, or the existing one.

        Raises:
            FailedError: the file cannot be written.
        """
        target, fresh = self._directory / name, self._space / name
        with explain_write_errors(self._directory):
            if target.is_file() and target.read_bytes() == content:
                return target
            files.write_bytes(fresh, content, durable=durable)
        self._written[fresh] = target
        return fresh

    def remove(self, path: Path) -> None:
        """Have `put_in_place` remove a file after all renames, and also the file's directory if it becomes empty."""
        self._needless.append(path)

    @signals.defer_signals()
    def put_in_place(self) -> None:
        """Rename each staged file to its final path, then remove the files that were passed to `remove`.

        Raises:
            FailedError: a directory could not be created, or the first rename failed; nothing was changed.
            EnvironmentDamagedError: a later rename failed; the directory is written in part.
        """
        made: list[Path] = []
        changed = False
        try:
            for target in self._written.values():
                if target.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
                made += [each for each in reversed(target.parents) if not os.path.lexists(each)]
                files.make_directories(target.parent)
            for fresh, target in self._written.items():
                os.replace(fresh, target)
                changed = True
            for directory in dict.fromkeys(target.parent for target in self._written.values()):
                files.sync_directory(directory)
            for path in self._needless:
                files.discard(path)
                with suppress(OSError):
                    path.parent.rmdir()
        except OSError as error:
            for directory in reversed(made):
                _remove_if_empty(directory)
            if changed or any(map(os.path.lexists, made)):
                raise _make_damaged_error(self._directory, refused_writes.reason(error, self._directory)) from error
            raise make_unwritable_error(self._directory, error) from error


@contextmanager
def replace_files(directory: Path) -> Iterator[StagedFiles]:
    """Let the block stage files, and rename these into a directory if the block succeeds.

    Args:
        directory: the directory; created if missing, and removed again if the block fails.

    Raises:
        FailedError: the directory cannot be written; nothing in it has changed.
        EnvironmentDamagedError: the directory was written in part, or a temporary directory in it cannot be removed.
            The next run removes the temporary directory.
    """
    missing = [each for each in (directory, *directory.parents) if not each.is_dir()]
    space: Path | None = None
    try:
        with ExitStack() as stack:
            for each in reversed(missing):
                stack.callback(_remove_if_empty, each)
            with explain_write_errors(directory):
                space = stack.enter_context(temporary_directories.temporary_directory("new", within=directory))
            staged = StagedFiles(directory, space)
            yield staged
            staged.put_in_place()
    finally:
        left = [each for each in missing if each.is_dir() and not any(each.iterdir())]
        if space is not None and os.path.lexists(space):
            left.append(space)
        if left:
            raise _make_damaged_error(directory, f"{left[-1]} cannot be removed")


def _make_damaged_error(directory: Path, reason: str) -> EnvironmentDamagedError:
    return EnvironmentDamagedError(
        f"{reason}: {directory} is written in part",
        hint=f"remove the cause (ls -la {quote(directory)}), then run the same command again: it finishes this",
    )


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()
