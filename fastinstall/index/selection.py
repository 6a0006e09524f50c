"""Choose files of an index or a directory for a recipe and a target, by file name alone, without I/O.

A file's name contains the distribution, its version and, for a wheel, the tags of interpreters that can install it (PEP
425). A `Choice` decides which files are wanted; `select` groups the wanted files by their use.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, cpython_tags
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import list_leading_numbers
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import Recipe

_LEGACY = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}  # PEP 600
_LEAST = {"manylinux": (2, 5), "musllinux": (1, 0)}  # the oldest C libraries that tags name (PEP 600, PEP 656)
_FAMILIES = {"glibc": "manylinux", "musl": "musllinux"}


@immutable
class FileName:
    """The parsed name of an sdist or a wheel.

    Attributes:
        name: name of the distribution, normalised.
        version: version of the distribution.
        tags: compatibility tags of a wheel; empty for an sdist.
    """

    name: str
    version: Version
    tags: frozenset[Tag]

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel, and not an sdist."""
        return bool(self.tags)


def parse_filename(filename: str) -> FileName | None:
    """Parse the name of an sdist or a wheel; return None for any other file name.

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
    except ValueError:
        return None
    return FileName(name=name, version=version, tags=frozenset())


def list_supported_tags(interpreter: Interpreter) -> dict[Tag, int]:
    """Return the wheel tags that a target can install, with ranks (0 is best); empty if the target is not CPython.

    The last tags ("linux_x86_64") are those of wheels that were built for this machine only.
    """
    python = list_leading_numbers(interpreter.version)[:2]
    architecture = interpreter.machine.replace("-", "_").replace(".", "_")
    newest = list_leading_numbers(interpreter.libc_version)
    platforms = (*list_libc_platforms(interpreter.libc, newest, architecture), f"linux_{architecture}")
    tags = cpython_tags(python, abis=[interpreter.abi], platforms=platforms)
    return {tag: rank for rank, tag in enumerate(tags)} if interpreter.implementation == "cpython" else {}


def is_installable(filename: str, interpreter: Interpreter) -> bool:
    """Return whether a target can install a wheel, judged by the Python, machine and C library in the wheel's name."""
    parsed = parse_filename(filename)
    return parsed is not None and not parsed.tags.isdisjoint(list_supported_tags(interpreter))


def list_libc_platforms(libc: str, newest: tuple[int, ...], architecture: str) -> Iterator[str]:
    """Yield the platform tags that a C library accepts, the best first (PEP 600, PEP 656).

    Args:
        libc: "glibc" or "musl"; for any other name, no tag is yielded.
        newest: version of the C library; the first tag that is yielded has this version.
    """
    family = _FAMILIES.get(libc)
    if family is None or len(newest) < 2 or newest[0] != _LEAST[family][0]:  # noqa: PLR2004 (major and minor)
        return
    major, least = _LEAST[family]
    for minor in range(newest[1], least - 1, -1):
        yield f"{family}_{major}_{minor}_{architecture}"
        if family == "manylinux" and (major, minor) in _LEGACY:
            yield f"{_LEGACY[major, minor]}_{architecture}"


_MACHINE = re.compile(r"linux_(?:\d+_)*(\w+)$")


@immutable
class Choice:
    """The criteria by which the wanted files of an index or a directory are selected.

    Attributes:
        sources: normalised names of distributions whose sdists are used.
        wheels: normalised names of distributions whose wheels are used.
        tags: the tags of wheels that the target can install, with their ranks (0 is the best).
        platforms: platform tags of programs (compilers) that the building machine can run.
    """

    sources: frozenset[str]
    wheels: frozenset[str]
    tags: dict[Tag, int]
    platforms: frozenset[str]

    def is_wanted(self, filename: str) -> bool:
        """Return whether a file is an sdist of `sources`, an installable wheel of `wheels`, or a usable compiler."""
        compiler = filename.startswith(tuple(f"{name}-" for name in list_wheel_compilers()))
        if filename.endswith(".whl") and not (compiler or _may_fit(filename, self.tags)):
            return False
        parsed = parse_filename(filename)
        if parsed is None:
            return False
        if compiler:  # a compiler runs without the target's Python
            return any(tag.platform in self.platforms for tag in parsed.tags)
        if not parsed.is_wheel:
            return parsed.name in self.sources
        return parsed.name in self.wheels and not parsed.tags.isdisjoint(self.tags)


def make_choice(recipes: Sequence[Recipe], interpreter: Interpreter, builder: Interpreter | None = None) -> Choice:
    """Return the criteria for files that the recipes can use.

    Args:
        recipes: recipes that name the distributions.
        interpreter: the target's Python.
        builder: a Python of the building machine; None if the target is on that machine.
    """
    wheels = [name for each in recipes for name in (each.source.pypi, each.source.base_wheel, *each.replaces)]
    sources = [*wheels, *(name for each in recipes for name in ingredients_of(each))]
    return Choice(
        sources=frozenset(map(canonicalize_name, sources)),
        wheels=frozenset(map(canonicalize_name, wheels)),
        tags=list_supported_tags(interpreter),
        platforms=frozenset(tag.platform for tag in list_supported_tags(builder or interpreter)),
    )


def ingredients_of(recipe: Recipe) -> tuple[str, ...]:
    """Return the distributions of the libraries that a build compiles from their own sdists, without repetitions."""
    linked = (library.static.pypi for library in recipe.libraries.values() if library.static)
    return tuple(dict.fromkeys(linked))


def _may_fit(filename: str, tags: dict[Tag, int]) -> bool:
    """Return False for wheels that cannot fit, without parsing their names: an index has thousands of them."""
    best = next(iter(tags), None)
    if best is None or not (best.interpreter in filename or "abi3" in filename):
        return False
    machine = _MACHINE.search(best.platform)
    return machine is not None and machine[1] in filename and "linux" in filename


def select_newest_labelled(offered: Iterable[Artefact], labels: frozenset[str], most: int) -> tuple[Artefact, ...]:
    """Select up to `most` of the newest wheels whose local version begins with one of `labels`, newest first."""
    labelled = (
        (artefact, name)
        for artefact, name in _parse_unique(offered)
        if name.is_wheel and (name.version.local or "").split(".")[0] in labels
    )
    return _sort_newest_first(labelled)[:most]


def select(offered: Iterable[Artefact], recipe: Recipe, tags: dict[Tag, int], *, origin: str) -> Releases:
    """Group the offered files by use (sources, wheels, compilers); of files with the same name, only the first counts.

    Pre-releases are left out. A wheel with a local version is never an official wheel; it is ours if the local version
    begins with the recipe's label.
    """
    files = _parse_unique(offered)
    stable = [(artefact, parsed) for artefact, parsed in files if not parsed.version.is_prerelease]
    official = [pair for pair in stable if pair[1].version.local is None]
    ours = [pair for pair in stable if (pair[1].version.local or "").split(".")[0] == recipe.source.label]
    base_wheel = canonicalize_name(recipe.source.base_wheel)
    portable = {tag: rank for tag, rank in tags.items() if not tag.platform.startswith("linux_")}
    return Releases(
        sources=_select_sdists(official, recipe.source.pypi),
        wheels=_select_best_of_each_version((pair for pair in official if pair[1].name == base_wheel), portable),
        statics={
            name: _select_sdists(official, library.static.pypi, library.static.versions)
            for name, library in recipe.libraries.items()
            if library.static
        },
        compilers=_sort_newest_first(
            pair
            for pair in official
            if (compiler := list_wheel_compilers().get(pair[1].name)) is not None
            and pair[1].version in SpecifierSet(compiler.versions)
        ),
        prebuilt=_sort_newest_first(pair for pair in ours if not pair[1].tags.isdisjoint(tags)),
        origin=origin,
    )


_Pair = tuple[Artefact, FileName]


def _parse_unique(offered: Iterable[Artefact]) -> list[_Pair]:
    first: dict[str, Artefact] = {}
    for artefact in offered:
        first.setdefault(artefact.filename, artefact)
    parsed = ((artefact, parse_filename(artefact.filename)) for artefact in first.values())
    return [(artefact, name) for artefact, name in parsed if name is not None]


def _select_sdists(pairs: Iterable[_Pair], name: str, versions: str = "") -> tuple[Artefact, ...]:
    """Select the sdists of a distribution, newest first; `versions` is a specifier of the acceptable versions."""
    wanted, known = canonicalize_name(name), SpecifierSet(versions)
    return _sort_newest_first(
        pair for pair in pairs if pair[1].name == wanted and not pair[1].is_wheel and pair[1].version in known
    )


def _sort_newest_first(pairs: Iterable[_Pair]) -> tuple[Artefact, ...]:
    return tuple(artefact for artefact, _ in sorted(pairs, key=lambda pair: pair[1].version, reverse=True))


def _select_best_of_each_version(pairs: Iterable[_Pair], tags: dict[Tag, int]) -> tuple[Artefact, ...]:
    best: dict[Version, tuple[int, _Pair]] = {}
    for pair in pairs:
        rank = min((tags[tag] for tag in pair[1].tags if tag in tags), default=None)
        if rank is not None and rank < best.get(pair[1].version, (len(tags) + 1, pair))[0]:
            best[pair[1].version] = (rank, pair)
    return _sort_newest_first(pair for _, pair in best.values())
