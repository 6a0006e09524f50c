"""What belongs to nothing that is currently installed in a conda environment."""

import os
from collections.abc import Iterable
from pathlib import Path

from fastinstall.core import foreign

_ASIDE = ".c~"


_TRASH = ".conda_trash"


_TRASH_DIRECTORY = ".trash"


_PLACES = ("", "conda-meta", "bin", "lib", "include")


_SITE_PACKAGES = "site-packages"


def observe_stale(prefix: Path, site: str) -> tuple[str, ...]:
    """Return the `site-packages` of other Python versions that still hold distributions, relative to the prefix.

    Args:
        site: the site-packages of its Python, relative to the prefix.
    """
    found = []
    for name in foreign.list_names(prefix / "lib"):
        place = f"lib/{name}/{_SITE_PACKAGES}"
        if name.startswith("python") and place != site and not (prefix / "lib" / name).is_symlink():
            held = foreign.list_names(prefix / place)
            found += [place] if any(each == "PIL" or each.endswith(".dist-info") for each in held) else []
    return tuple(found)


def observe_debris(prefix: Path, site: str, replaced: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a killed transaction leaves beside PIL, records and libraries, relative to the prefix.

    conda renames every file that it removes to "NAME.c~" until the end, and to "NAME.conda_trash" if it may not remove
    it; py-rattler moves such a file into ".trash". Source: conda's `UnlinkPathAction` and `unlink_or_rename_to_trash`.

    Args:
        site: the site-packages of its Python, relative to the prefix.
        replaced: names of distributions that provide PIL.
    """
    names = foreign.list_names(prefix / site)
    own = [f"{prefix}/{site}/{name}" for name in names if name == "PIL" or _is_of_pil(name, replaced)]
    skipped = len(str(prefix)) + 1
    below = (directory[skipped:] for each in own for directory, _, _ in os.walk(each))
    found = {f"{_TRASH_DIRECTORY}/{name}" for name in foreign.list_names(prefix / _TRASH_DIRECTORY)}
    for place in (*_PLACES, site, *below):
        leftovers = (name for name in foreign.list_names(prefix / place) if name.endswith(_ASIDE) or _TRASH in name)
        found.update(f"{place}/{name}" if place else name for name in leftovers)
    return tuple(sorted(found))


def _is_of_pil(name: str, replaced: Iterable[str]) -> bool:
    """Return whether a directory in site-packages holds metadata or libraries of a distribution that provides PIL."""
    stem = name.partition("-")[0].removesuffix(".libs")
    return stem.replace("_", "-").lower() in replaced and not name.endswith(".py")
