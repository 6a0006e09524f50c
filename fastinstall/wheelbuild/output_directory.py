"""The directory that the result of a build is put into: whether it can be written, and one writer at a time.

What is written there is whole file by file. A run that is stopped between two files is finished by the same command.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import refused_writes
from fastinstall.core.codec import digest
from fastinstall.core.errors import FailedError
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
