"""What the name of an sdist or a wheel says, and whether such a file can serve a recipe and a target."""

import re
from collections.abc import Iterable

from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.values import immutable
from fastinstall.model.recipe import Recipe

_MACHINE = re.compile(r"linux_(?:\d+_)*(\w+)$")


@immutable
class FileName:
    """What the name of an sdist or a wheel says.

    Attributes:
        name: of the distribution, normalised.
        version: the version of the distribution.
        tags: of a wheel; empty for an sdist.
    """

    name: str
    version: Version
    tags: frozenset[Tag]

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel, and not an sdist."""
        return bool(self.tags)


def parse_filename(filename: str) -> FileName | None:
    """Parse the name of an sdist or a wheel; None for anything else.

    >>> name = parse_filename("pillow-13.0.0+simd.v3-cp311-cp311-manylinux_2_28_x86_64.whl")
    >>> name.name, str(name.version), name.is_wheel
    ('pillow', '13.0.0+simd.v3', True)
    >>> parse_filename("SHA256SUMS") is None
    True
    """
    try:
        if filename.endswith(".whl"):
            name, version, _build, tags = parse_wheel_filename(filename)
            return FileName(name=name, version=version, tags=tags)
        name, version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return FileName(name=name, version=version, tags=frozenset())


@immutable
class Names:
    """Names of distributions, normalised.

    Attributes:
        sources: whose sdists are used.
        wheels: whose wheels are used.
    """

    sources: frozenset[str]
    wheels: frozenset[str]


def is_fitting(filename: str, names: Names, tags: dict[Tag, int], programs: dict[Tag, int] | None = None) -> bool:
    """Return whether a file is an sdist of one of the names, or a wheel of one that the target can install.

    Args:
        filename: its name alone.
        names: of the distributions that matter.
        tags: that the target can install.
        programs: that the machine can run which builds, for a compiler; None where that is the target.
    """
    compiler = filename.startswith(tuple(f"{name}-" for name in list_wheel_compilers()))
    if filename.endswith(".whl") and not (compiler or _may_fit(filename, tags)):
        return False
    parsed = parse_filename(filename)
    if parsed is None:
        return False
    if compiler:  # a program: any Python will do
        return not {tag.platform for tag in parsed.tags}.isdisjoint({tag.platform for tag in programs or tags})
    if not parsed.is_wheel:
        return parsed.name in names.sources
    return parsed.name in names.wheels and not parsed.tags.isdisjoint(tags)


def names_of(recipes: Iterable[Recipe]) -> Names:
    """Return the names of all distributions whose files some recipes can use."""
    known = tuple(recipes)
    wheels = [name for each in known for name in (each.source.pypi, each.source.base_wheel, *each.replaces)]
    sources = [*wheels, *(name for each in known for name in ingredients_of(each))]
    return Names(sources=frozenset(map(canonicalize_name, sources)), wheels=frozenset(map(canonicalize_name, wheels)))


def ingredients_of(recipe: Recipe) -> tuple[str, ...]:
    """Return the names of further distributions whose sdists go into a build, each once."""
    linked = (library.static.pypi for library in recipe.libraries.values() if library.static)
    return tuple(dict.fromkeys(linked))


def _may_fit(filename: str, tags: dict[Tag, int]) -> bool:
    """Return whether a name is worth parsing, which most of the thousands in an index are not."""
    best = next(iter(tags), None)
    if best is None or not (best.interpreter in filename or "abi3" in filename):
        return False
    machine = _MACHINE.search(best.platform)
    return machine is not None and machine[1] in filename and "linux" in filename
