"""What lies in a conda environment and belongs to nothing that is installed there now."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_ASIDE = ".c~"
_TRASH = ".conda_trash"
_TRASH_DIRECTORY = ".trash"
_PLACES = ("", "conda-meta", "bin", "lib", "include")
_SITE_PACKAGES = "site-packages"


def observe_stale(prefix: Path, site: str) -> tuple[str, ...]:
    """The `site-packages` of other versions of Python that still hold distributions, relative to the prefix.

    Args:
        prefix: the environment.
        site: the site-packages of its Python, relative to the prefix.
    """
    pythons = (name for name in _names(prefix / "lib") if name.startswith("python"))
    places = (f"lib/{name}/{_SITE_PACKAGES}" for name in pythons if not (prefix / "lib" / name).is_symlink())
    return tuple(place for place in places if place != site and _holds_distributions(prefix / place))


def observe_debris(prefix: Path, site: str, replaced: tuple[str, ...]) -> tuple[str, ...]:
    """What a transaction that was killed leaves, where PIL, records and libraries lie; relative to the prefix.

    conda moves every file that it removes to "NAME.c~" until all is done, and to "NAME.conda_trash" where it may not
    remove it; py-rattler moves such a file into ".trash". Source: conda's `UnlinkPathAction` and
    `unlink_or_rename_to_trash`.

    Args:
        prefix: the environment.
        site: the site-packages of its Python, relative to the prefix.
        replaced: names of distributions that provide PIL.
    """
    own = (f"{site}/{name}" for name in _names(prefix / site) if name == "PIL" or _is_of_pil(name, replaced))
    places = (*_PLACES, site, *(below for directory in own for below in _below(prefix, directory)))
    found = (f"{place}/{name}" if place else name for place in places for name in _left_in(prefix / place))
    trash = (f"{_TRASH_DIRECTORY}/{name}" for name in _names(prefix / _TRASH_DIRECTORY))
    return tuple(sorted({*found, *trash}))


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 (thousands of paths are not worth as many objects)
    except OSError:
        return []


def _holds_distributions(directory: Path) -> bool:
    return any(name == "PIL" or name.endswith(".dist-info") for name in _names(directory))


def _is_of_pil(name: str, replaced: Iterable[str]) -> bool:
    """Whether a directory in site-packages holds metadata or libraries of a distribution that provides PIL."""
    stem = name.partition("-")[0].removesuffix(".libs")
    return stem.replace("_", "-").lower() in replaced and not name.endswith(".py")


def _below(prefix: Path, place: str) -> Iterator[str]:
    """A directory and all that are below it."""
    skipped = len(str(prefix)) + 1
    return (directory[skipped:] for directory, _, _ in os.walk(prefix / place))


def _left_in(directory: Path) -> Iterator[str]:
    return (name for name in _names(directory) if name.endswith(_ASIDE) or _TRASH in name)
