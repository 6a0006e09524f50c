"""Our store of downloaded files: each in a directory named by its hash, there whole or not at all."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from fastinstall.errors import FailedError, RefusedError
from fastinstall.model.artefact import Artefact
from fastinstall.system import files, foreign

_SHA256 = re.compile(r"[0-9a-f]{64}")


def stored(cache: Path, artefact: Artefact) -> Path | None:
    """The file in the store, if it is there and has the artefact's hash."""
    if not artefact.sha256:
        return None
    path = _place(cache, artefact, artefact.sha256)
    return path if path.is_file() and files.sha256(path) == artefact.sha256 else None


def store(cache: Path, artefact: Artefact, write: Callable[[Path], None]) -> Path:
    """Put a file into the store once its hash is found right.

    Args:
        cache: our cache directory.
        artefact: what the file is said to be.
        write: writes the content to the path that it is given.

    Raises:
        FailedError: the hash is another, or the cache cannot be written.
        RefusedError: the artefact's name or hash is none.
    """
    _require_plain(artefact)
    with writable(cache), files.temporary_directory("download", within=cache / "downloads") as directory:
        fresh = directory / artefact.filename
        write(fresh)
        digest = files.sha256(fresh)
        if digest != (artefact.sha256 or digest):
            raise _mismatch(artefact, digest)
        return _keep(fresh, _place(cache, artefact, digest))


def copy(source: Path) -> Callable[[Path], None]:
    """A `write` for `store` that copies a file of this machine; never a link to it."""

    def write(target: Path) -> None:
        if not source.is_file():
            raise FailedError(f"{source}: no such file", hint="make the wheelhouse again, or leave --offline out")
        shutil.copyfile(source, target)

    return write


def stored_files(cache: Path) -> tuple[Path, ...]:
    """All files in the store that have the hash that their place says, by name."""
    found = (cache / "downloads").glob("[0-9a-f][0-9a-f]/*/*")
    return tuple(sorted((path for path in found if files.sha256(path) == path.parent.name), key=lambda path: path.name))


def _place(cache: Path, artefact: Artefact, digest: str) -> Path:
    return cache / "downloads" / digest[:2] / digest / artefact.filename


def _keep(fresh: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with foreign.opened(fresh) as stream:
        os.fsync(stream.fileno())
    os.replace(fresh, target)
    files.sync_directory(target.parent)
    return target


def _require_plain(artefact: Artefact) -> None:
    plain = PurePath(artefact.filename).name == artefact.filename and artefact.filename not in ("", ".", "..")
    if not plain or (artefact.sha256 and not _SHA256.fullmatch(artefact.sha256)):
        raise RefusedError(f"{artefact.filename!r} with sha256 {artefact.sha256!r} is not the name of a file to fetch")


@contextmanager
def writable(cache: Path) -> Iterator[None]:
    """A stretch of work in our cache directory, whose troubles are told as such."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        hint = "make room there, or choose another place: FASTINSTALL_CACHE_DIR=DIR fastinstall ..."
        raise FailedError(f"{cache}: the download cannot be kept: {reason}", hint=hint) from error


def _mismatch(artefact: Artefact, digest: str) -> FailedError:
    return FailedError(
        f"{artefact.filename}: the hash is wrong: expected sha256 {artefact.sha256}, found {digest}",
        hint="nothing was kept: try again; if it stays so, the index or something on the way alters the file",
        details=(f"from {artefact.url}",),
    )
