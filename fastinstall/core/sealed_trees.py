"""Verify trees in the cache, such as compilers and headers, against a manifest of hashes before each use.

`<cache>/manifests/PLACE.json` has the hashes of the files that `<cache>/PLACE` had when this user created it. A tree
that differs, or that contains a file of another user, counts as missing, and is created again.

Manifests are in the cache, which is only used if no other user can write to it (`core.cache_directory`). They are not
inside the trees: a foreign tree, from a restored archive or a copy by root, could then bring its own manifest. They are
not in the state directory: it is no safer, since the same user writes to it, and a cache that is moved to another
machine would lose its manifests.

All files of a tree are read each time: for a compiler, 220 MB in 0.4 s, before a build of half a minute. If the wheel
is built already, only the official wheel is read (20 MB).
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from fastinstall.core import codec, files, foreign, temporary_directories
from fastinstall.core.cache_directory import find_trusted_owners
from fastinstall.core.values import immutable

_MANIFESTS = "manifests"


@immutable
class TreeManifest:
    """The content of a tree.

    Attributes:
        files: maps each path to the SHA-256 of a file, to "-> " and the target of a symbolic link, or to "" for a
            directory.
    """

    files: dict[str, str]


def make_once(place: Path, make: Callable[[Path], object], *, cache: Path, but: Collection[str] = ()) -> Path:
    """Return the path of a tree in the cache, after creating the tree if it is missing or differs from its manifest.

    Args:
        place: the tree's path in the cache; the name of its parent directory is the kind of tree ("toolchains").
        make: a function that creates the tree at the path that it receives; it may also write beside that path.
        cache: our cache directory, as returned by `open_cache`.
        but: names at the top of the tree that are left out of the manifest.

    Raises:
        OSError: the cache cannot be written.
    """
    if not is_intact(place, cache=cache, but=but):
        with temporary_directories.temporary_directory(place.parent.name, within=cache / "tmp") as space:
            make(space / "fresh")
            publish_sealed(space / "fresh", place, space / "aside", cache=cache, but=but)
    return place


def publish_sealed(fresh: Path, place: Path, aside: Path, *, cache: Path, but: Collection[str] = ()) -> None:
    """Write the manifest of a finished tree, and move the tree into the cache; see `files.publish`.

    Args:
        fresh: the finished tree, on the cache's filesystem.
        place: the tree's future path in the cache.
        aside: an unused path, to which an existing tree may be moved.
        cache: our cache directory, as returned by `open_cache`.
        but: names at the top of the tree that are left out of the manifest.
    """
    seal(fresh, place, cache=cache, but=but)
    files.publish(fresh, place, aside)


def seal(fresh: Path, place: Path, *, cache: Path, but: Collection[str] = ()) -> None:
    """Write the manifest for `place` from the tree at `fresh`, which may be `place` itself."""
    manifest = TreeManifest(files={name: _digest(fresh / name) for name, _ in _walk(fresh, but)})
    files.write_text(_locate(place, cache), codec.dump(codec.document("tree", manifest)))


def is_intact(place: Path, *, cache: Path, but: Collection[str] = ()) -> bool:
    """Return whether a tree matches its manifest, belongs to trusted users, and has no world-writable entry.

    Args:
        place: the tree's path in the cache; it may be missing.
        cache: our cache directory, as returned by `open_cache`.
        but: names at the top of the tree that are not compared with the manifest; owners and modes are still checked.
    """
    manifest = foreign.read_kept(TreeManifest, "tree", _locate(place, cache))
    if manifest is None:
        return False
    try:
        owners = find_trusted_owners(cache)
        for status in (place.stat(), *(each for _, each in _walk(place))):
            is_open = not stat.S_ISLNK(status.st_mode) and status.st_mode & stat.S_IWOTH
            if status.st_uid not in owners or is_open:
                return False
        return {name: _digest(place / name) for name, _ in _walk(place, but)} == manifest.files
    except OSError:
        return False


def _locate(place: Path, cache: Path) -> Path:
    return cache / _MANIFESTS / f"{place.relative_to(cache)}.json"


def _walk(tree: Path, but: Collection[str] = (), within: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and status of each entry in a tree; the paths of directories end with a slash."""
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
