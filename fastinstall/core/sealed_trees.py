"""Trees in our cache that are run, compiled against or linked: compared with a manifest of hashes before each use.

`<cache>/manifests/PLACE.json` names the files that `<cache>/PLACE` had when this user made it. A tree that is another
one, or of which a file belongs to somebody else, counts as missing: it is made anew.

Manifests lie in the cache, because it is opened only where nobody else can write (`core.cache_directory`): whoever
could change one could change what runs us, too. They lie outside of their trees, because trees come from elsewhere
whole, by a restored archive or a copy as root. The state directory would be no safer, the same user writes there, and a
cache that moves to another machine would be worth nothing. Files are read each time, 220 MB in 0.4 s: a compiler before
a build of half a minute. Where a wheel is ready, only the official one that it is compared with is read, 20 MB.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from fastinstall.core import codec, files, foreign, temporary_directories
from fastinstall.core.cache_directory import find_trusted_owners
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable

_MANIFESTS = "manifests"
_EVERYBODY_WRITES = 0o002


@immutable
class TreeManifest:
    """The content of a tree.

    Attributes:
        files: sha256 by path; of a symbolic link "-> " and what it says.
    """

    files: dict[str, str]


def make_once(place: Path, make: Callable[[Path], object], *, cache: Path, but: Collection[str] = ()) -> Path:
    """Return a tree of the cache, made if it is missing or is not what was made.

    Args:
        place: in the cache; its parent's name says what it is ("toolchains").
        make: makes the tree at a path beside which it may write, and where nothing is yet.
        cache: our cache directory, opened.
        but: names at its top that are not sealed.

    Raises:
        OSError: the cache cannot be written.
    """
    if not is_intact(place, cache=cache, but=but):
        with temporary_directories.temporary_directory(place.parent.name, within=cache / "tmp") as space:
            make(space / "fresh")
            publish_sealed(space / "fresh", place, space / "aside", cache=cache, but=but)
    return place


def publish_sealed(fresh: Path, place: Path, aside: Path, *, cache: Path, but: Collection[str] = ()) -> None:
    """Put a finished tree into the cache with its manifest; like `files.publish`.

    Args:
        fresh: the finished tree, on the cache's filesystem.
        place: its place in the cache.
        aside: where what is there may go.
        cache: our cache directory, opened.
        but: names at its top that are not sealed.
    """
    seal(fresh, place, cache=cache, but=but)
    files.publish(fresh, place, aside)


def seal(fresh: Path, place: Path, *, cache: Path, but: Collection[str] = ()) -> None:
    """Write the manifest of a tree that is, or is about to be, in its place."""
    manifest = TreeManifest(files={name: _digest(fresh / name) for name, _ in _walk(fresh, but)})
    files.write_text(_locate(place, cache), codec.dump(codec.document("tree", manifest)))


def is_intact(place: Path, *, cache: Path, but: Collection[str] = ()) -> bool:
    """Return whether a tree is what it was made as, and every file in it root's or the user's own.

    Args:
        place: in the cache; need not be there.
        cache: our cache directory, opened.
        but: names at its top that are not sealed; their owners are judged all the same.
    """
    path = _locate(place, cache)
    try:
        manifest = codec.open_document(TreeManifest, "tree", json_data(foreign.read_text(path)), file=path)
        owners = find_trusted_owners(cache)
        if not all(_is_own(status, owners) for status in (place.stat(), *(each for _, each in _walk(place)))):
            return False
        return {name: _digest(place / name) for name, _ in _walk(place, but)} == manifest.files
    except (OSError, ValueError, DocumentError):
        return False


def _locate(place: Path, cache: Path) -> Path:
    return cache / _MANIFESTS / f"{place.relative_to(cache)}.json"


def _walk(tree: Path, but: Collection[str] = (), within: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is in a tree by its path; directories end with a slash."""
    with os.scandir(tree / within) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name in but and not within:
                continue
            name, status = within + entry.name, entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                yield f"{name}/", status
                yield from _walk(tree, (), f"{name}/")
            else:
                yield name, status


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return "" if path.is_dir() else files.sha256(path)


def _is_own(status: os.stat_result, owners: frozenset[int]) -> bool:
    return status.st_uid in owners and (stat.S_ISLNK(status.st_mode) or not status.st_mode & _EVERYBODY_WRITES)
