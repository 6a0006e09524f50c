"""Wheels that a wheelhouse has already, so that they are not built again."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.errors import FailedError
from fastinstall.installers.selection import parse_filename
from fastinstall.installers.wheelhouse import read_sums
from fastinstall.model.fleet import FleetArtefact
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.labels import labelled_levels
from fastinstall.rules.numbering import base_version, parsed
from fastinstall.system import files
from fastinstall.system.zips import sound_zip

SUMS = "SHA256SUMS"
_MADE = ".dist-info/fastinstall.json"


@immutable
class WheelThere:
    """A wheel in a wheelhouse.

    Attributes:
        name: of the file.
        sha256: of it, hexadecimal.
        platforms: its platform tags.
    """

    name: str
    sha256: str
    platforms: tuple[str, ...]


def wheel_there(directory: Path, artefact: FleetArtefact, recipe: Recipe, wish: Wish) -> WheelThere | None:
    """Find the newest wheel in a directory that matches an artefact, or return None.

    It counts where SHA256SUMS lists it with the sum that it has, and where it says itself that this recipe made it,
    linked as wished. Whether there is a later version is asked with --upgrade only.

    Raises:
        DocumentError: SHA256SUMS cannot be read.
    """
    if wish.upgrade or wish.require:
        return None
    sums = read_sums(directory / SUMS)
    fitting = sorted(_fitting(sums, artefact, recipe, wish), key=lambda pair: parsed(pair[0]), reverse=True)
    for _, name in fitting:
        if _is_sound(directory / name, sums[name], wish):
            return described(name, sums[name])
    return None


def described(name: str, sha256: str) -> WheelThere:
    """A wheel by the name of its file."""
    known = parse_filename(name)
    platforms = {tag.platform for tag in known.tags} if known is not None else set()
    return WheelThere(name=name, sha256=sha256, platforms=tuple(sorted(platforms)))


def _fitting(names: "dict[str, str]", artefact: FleetArtefact, recipe: Recipe, wish: Wish) -> Iterator[tuple[str, str]]:
    """Version and name of each file that is for this Python, with these levels, at the wished version."""
    for name in names:
        known = parse_filename(name) if name.endswith(".whl") else None
        if known is None or known.name != wish.dist_name or artefact.abi not in {tag.abi for tag in known.tags}:
            continue
        version = str(known.version)
        named = wish.version is None or base_version(version) == base_version(wish.version)
        if named and labelled_levels(recipe, version) == artefact.levels:
            yield version, name


def _is_sound(wheel: Path, sha256: str, wish: Wish) -> bool:
    try:
        return files.sha256(wheel) == sha256.lower() and _is_made_as(wheel, wish)
    except (OSError, FailedError, ValueError):
        return False


def _is_made_as(wheel: Path, wish: Wish) -> bool:
    with sound_zip(wheel) as archive:
        told = next((name for name in archive.files if name.endswith(_MADE)), None)
        made = json_data(archive.read(told)) if told is not None else None
    return isinstance(made, dict) and made.get("recipe") == wish.recipe and made.get("link") == wish.link
