"""The store of downloaded files, each in a directory named by its hash.

A file is stored completely or not at all. A note beside the file lists the indexes that have offered it. A file can
always be found by its hash, but by its name only if pip is configured for one of these indexes.

A file that the user named for one run is not stored: it is copied to a directory that this process removes when it
ends.
"""

import atexit
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path, PurePath

from fastinstall.core import codec, files, foreign, refused_writes, temporary_directories
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.refused_writes import advise_on_cache
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact

_SHA256 = re.compile(r"[0-9a-f]{64}")


class CacheNotWritableError(FailedError):
    """A download cannot be saved in our cache; downloading it from another address would not help."""


def find_stored_file(directory: Path, artefact: Artefact) -> Path | None:
    """Return the path of an artefact's file in the store; None if the file is absent or has another hash."""
    if not artefact.sha256:
        return None
    path = _place(directory, artefact, artefact.sha256)
    return path if path.is_file() and files.sha256(path) == artefact.sha256 else None


def store_download(cache: Path, artefact: Artefact, write: Callable[[Path], None]) -> Path:
    """Put a file into the store if its hash is right, and return its path in the store.

    Args:
        cache: the root of our cache or, for a file that is used in this run only, `private_space`.
        artefact: the expected name and hash of the file, and the index that offers it.
        write: function that writes the file's content to a given path.

    Raises:
        FailedError: the hash is wrong, or the cache cannot be written.
        RefusedError: the artefact's file name or hash is malformed.
    """
    plain = PurePath(artefact.filename).name == artefact.filename and artefact.filename not in ("", ".", "..")
    if not plain or (artefact.sha256 and not _SHA256.fullmatch(artefact.sha256)):
        raise RefusedError(f"{artefact.filename!r} with sha256 {artefact.sha256!r} is not the name of a file to fetch")
    with (
        writable(cache),
        temporary_directories.temporary_directory("download", within=cache / "downloads") as directory,
    ):
        fresh = directory / artefact.filename
        write(fresh)
        digest = files.sha256(fresh)
        if digest != (artefact.sha256 or digest):
            raise FailedError(
                f"{artefact.filename}: hash mismatch: expected sha256 {artefact.sha256}, found {digest}",
                hint="nothing was kept. Try again; if it fails again, the index or a proxy alters the file",
                details=(f"from {artefact.url}",),
            )
        target = _place(cache, artefact, digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        with foreign.open_foreign_file(fresh) as stream:
            os.fsync(stream.fileno())
        os.replace(fresh, target)
        files.sync_directory(target.parent)
        _record_index(target, artefact.index)
        return target


def copy_local_file(source: Path, target: Path) -> None:
    """Copy a local file, never as a link. `store_download` calls this function as its argument `write`."""
    if not source.is_file():
        raise FailedError(f"{source}: no such file", hint="rebuild the wheelhouse, or leave out --offline")
    shutil.copyfile(source, target)


@cache
def private_space(cache: Path) -> Path:
    """Return a temporary directory in our cache, created by the first call, and removed when this process ends.

    Raises:
        FailedError: the cache cannot be written.
    """
    held, process = ExitStack(), os.getpid()

    def leave() -> None:
        if os.getpid() == process:  # a forked process must not remove the directory
            held.close()

    atexit.register(leave)
    with writable(cache):
        return held.enter_context(temporary_directories.temporary_directory("given", within=cache / "tmp"))


@immutable
class StoredFile:
    """A file in the store.

    Attributes:
        path: path of the file; its directory is named by the hash that the file should have.
        indexes: names of the indexes that have offered the file, as in `PipSettings.places`; empty if unknown.
    """

    path: Path
    indexes: tuple[str, ...]

    def find_index(self, places: Collection[str]) -> str:
        """Return the first of `places` that has offered the file; empty if none has."""
        return next((place for place in places if place in self.indexes), "")


def list_offered_files(
    cache: Path, wanted: Callable[[str], bool], places: Collection[str]
) -> tuple[tuple[Path, str], ...]:
    """List the wanted files in the store that have been offered by an index in `places`, in the order of `places`.

    Args:
        wanted: function that returns whether a file is wanted, given its name.
        places: names of indexes, as in `PipSettings.places`.

    Returns:
        The path of each file, and the index that has offered it. Files with a wrong hash are left out.
    """
    stored = list_stored_files(cache, wanted)
    found = [(each.path, place) for place in places for each in stored if each.find_index(places) == place]
    return tuple((path, place) for path, place in found if files.sha256(path) == path.parent.name)


def list_stored_files(cache: Path, wanted: Callable[[str], bool]) -> tuple[StoredFile, ...]:
    """List the wanted files in the store, sorted by name; the files are not opened.

    Args:
        wanted: function that returns whether a file is wanted, given its name.
    """
    paths = (cache / "downloads").glob("[0-9a-f][0-9a-f]/*/*")
    found = (StoredFile(path=path, indexes=_read_indexes(path)) for path in paths if wanted(path.name))
    return tuple(sorted(found, key=lambda each: each.path.name))


@contextmanager
def discarding_refused(path: Path) -> Iterator[None]:
    """Remove a stored file and the note of its indexes if the block raises `FailedError`."""
    try:
        yield
    except FailedError:
        for each in (path, _locate_index_note(path)):
            files.discard(each)
        raise


@immutable
class _Offered:
    """The note of the indexes that have offered a file."""

    indexes: tuple[str, ...]


def record_offers(cache: Path, offered: Iterable[Artefact]) -> None:
    """Record which indexes offer files that are in the store with the same name and hash.

    Args:
        offered: files that indexes have just offered, with their hashes.
    """
    for artefact in offered:
        path = _place(cache, artefact, artefact.sha256)
        if artefact.sha256 and path.is_file():
            _record_index(path, artefact.index)


def _record_index(path: Path, index: str) -> None:
    known = _read_indexes(path)
    if index and index not in known:
        text = codec.dump(codec.document("offered", _Offered(indexes=(*known, index))))
        with suppress(OSError):  # a read-only cache can still be used
            files.write_text(_locate_index_note(path), text, durable=False)


def _read_indexes(path: Path) -> tuple[str, ...]:
    known = foreign.read_kept(_Offered, "offered", _locate_index_note(path))
    return known.indexes if known is not None else ()


def _locate_index_note(path: Path) -> Path:
    return path.with_name(f"{path.name}.index.json")


def is_downloaded(cache: Path, artefact: Artefact) -> bool:
    """Return whether a cache has a directory for a file with an artefact's hash; no file is opened."""
    return _place(cache, artefact, artefact.sha256).parent.is_dir()


def _place(cache: Path, artefact: Artefact, digest: str) -> Path:
    return cache / "downloads" / digest[:2] / digest / artefact.filename


@contextmanager
def writable(cache: Path) -> Iterator[None]:
    """Turn an `OSError` in the block into a `CacheNotWritableError` that explains it."""
    try:
        yield
    except OSError as error:
        message = f"{refused_writes.reason(error, cache)}: cannot save the download"
        raise CacheNotWritableError(message, hint=advise_on_cache(error, cache)) from error
