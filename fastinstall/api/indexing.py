"""Putting a wheel into a directory that is a wheelhouse and a package index at once."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.build.cache import reserved
from fastinstall.build.offered_wheels import SUMS, survey
from fastinstall.build.static_index import write_index
from fastinstall.errors import FailedError
from fastinstall.installers.wheelhouse import read_sums
from fastinstall.model.codec import digest
from fastinstall.model.event import ignore
from fastinstall.rules.messages import quote
from fastinstall.system import files


def require_wheelhouse(session: Session, directory: Path) -> None:
    """Say before a build what could not be offered after it; nothing is changed.

    Raises:
        FailedError: the directory cannot be written, or a wheel in it is damaged or not what its sum says.
        DocumentError: its SHA256SUMS cannot be read.
    """
    require_writable(directory)
    survey(directory, session.emit)


def publish_wheel(session: Session, wheel: Path, sha256: str, directory: Path) -> Path:
    """Put a wheel into a directory, with its sum, and bring the index of the directory up to date.

    Args:
        session: where the caches come from; who hears of what is not offered.
        wheel: the file.
        sha256: of it, hexadecimal.
        directory: made where it is missing; what lies there already stays.

    Returns:
        The wheel in its place.

    Raises:
        FailedError: another wheel of that name lies there, one of those there is damaged, or the directory cannot be
            written; then nothing was changed.
        DocumentError: its SHA256SUMS cannot be read.
    """
    target = directory / wheel.name
    with _alone(session, directory), _told(directory):
        survey(directory, ignore)
        _refuse_another(target, sha256)
        if not target.exists():
            files.write_bytes(target, wheel.read_bytes())
        _add_sum(directory / SUMS, sha256, target.name)
        write_index(directory, survey(directory, session.emit))
    return target


@contextmanager
def _alone(session: Session, directory: Path) -> Iterator[None]:
    """One writer of a directory at a time, as far as this user's runs go."""
    key = f"index-{digest(str(directory.resolve()))[:16]}"
    with reserved(session.own_cache(), key, session.emit, "writes the same directory"):
        yield


@contextmanager
def _told(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(directory, error) from error


def unwritable(directory: Path, error: OSError) -> FailedError:
    """The failure that a directory for builds cannot be written."""
    return FailedError(f"-o {directory}: cannot be written: {error.strerror}", hint="name another directory")


def require_writable(directory: Path) -> None:
    """Say before a build that what comes of it could not be written there.

    Raises:
        FailedError: it is a file, or may not be written.
    """
    there = next(each for each in (directory, *directory.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise unwritable(directory, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(there, os.W_OK | os.X_OK):
        raise unwritable(directory, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _refuse_another(target: Path, sha256: str) -> None:
    """Who has installed a wheel by its hash has to find it under its name."""
    if target.is_file() and files.sha256(target) != sha256:
        raise FailedError(
            f"{target}: another wheel of that name lies there: what was built has sha256 {sha256}",
            hint=f"build into another directory; or, if nobody installs that one by its hash: rm {quote(target)}",
        )


def _add_sum(file: Path, sha256: str, name: str) -> None:
    sums = {**read_sums(file), name: sha256}
    files.write_text(file, "".join(f"{sums[each]}  {each}\n" for each in sorted(sums)))
