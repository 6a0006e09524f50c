"""Choose from the files of an index or a directory, by their names alone, what serves a recipe and a target.

`is_fitting` says which files matter at all, `select` what each of them is good for.
"""

import re
from collections.abc import Iterable, Sequence

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.values import immutable
from fastinstall.index.file_names import FileName, parse_filename
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.recipe import Recipe

_MACHINE = re.compile(r"linux_(?:\d+_)*(\w+)$")


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


def select_newest_labelled(offered: Iterable[Artefact], labels: frozenset[str], most: int) -> tuple[Artefact, ...]:
    """Select so many of the newest wheels whose local version begins with one of some labels, newest first."""
    labelled = (
        (artefact, name)
        for artefact, name in _parse_unique(offered)
        if name.is_wheel and (name.version.local or "").split(".")[0] in labels
    )
    return _sort_newest_first(labelled)[:most]


def select(offered: Iterable[Artefact], recipe: Recipe, tags: dict[Tag, int], *, origin: str) -> Releases:
    """Choose from what is offered; the first of two files with one name is taken.

    Pre-releases are left out. A wheel with a local version is never an official one; it is ours
    when its label begins with the recipe's.
    """
    files = _parse_unique(offered)
    stable = [(artefact, parsed) for artefact, parsed in files if not parsed.version.is_prerelease]
    official = [pair for pair in stable if pair[1].version.local is None]
    ours = [pair for pair in stable if (pair[1].version.local or "").split(".")[0] == recipe.source.label]
    base_wheel = canonicalize_name(recipe.source.base_wheel)
    return Releases(
        sources=_select_sdists(official, recipe.source.pypi),
        wheels=_select_best_of_each_version(
            (pair for pair in official if pair[1].name == base_wheel), _select_portable(tags)
        ),
        statics=_select_statics(official, recipe),
        compilers=_sort_newest_first(
            (artefact, parsed) for artefact, parsed in official if _is_tested_compiler(parsed)
        ),
        prebuilt=_sort_newest_first(pair for pair in ours if not pair[1].tags.isdisjoint(tags)),
        origin=origin,
    )


def _is_tested_compiler(name: FileName) -> bool:
    compiler = list_wheel_compilers().get(name.name)
    return compiler is not None and name.version in SpecifierSet(compiler.versions)


_Pair = tuple[Artefact, FileName]


def _parse_unique(offered: Iterable[Artefact]) -> list[_Pair]:
    first: dict[str, Artefact] = {}
    for artefact in offered:
        first.setdefault(artefact.filename, artefact)
    parsed = ((artefact, parse_filename(artefact.filename)) for artefact in first.values())
    return [(artefact, name) for artefact, name in parsed if name is not None]


def _select_sdists(pairs: Iterable[_Pair], name: str, versions: str = "") -> tuple[Artefact, ...]:
    """Select the sdists of a distribution, newest first; a specifier says which versions will do."""
    wanted, known = canonicalize_name(name), SpecifierSet(versions)
    return _sort_newest_first(
        pair for pair in pairs if pair[1].name == wanted and not pair[1].is_wheel and pair[1].version in known
    )


def _select_statics(pairs: Sequence[_Pair], recipe: Recipe) -> dict[str, tuple[Artefact, ...]]:
    linked = {name: library.static for name, library in recipe.libraries.items() if library.static}
    return {name: _select_sdists(pairs, static.pypi, static.versions) for name, static in linked.items()}


def _sort_newest_first(pairs: Iterable[_Pair]) -> tuple[Artefact, ...]:
    return tuple(artefact for artefact, _ in sorted(pairs, key=lambda pair: pair[1].version, reverse=True))


def _select_best_of_each_version(pairs: Iterable[_Pair], tags: dict[Tag, int]) -> tuple[Artefact, ...]:
    best: dict[Version, tuple[int, _Pair]] = {}
    for pair in pairs:
        rank = min((tags[tag] for tag in pair[1].tags if tag in tags), default=None)
        if rank is not None and rank < best.get(pair[1].version, (len(tags) + 1, pair))[0]:
            best[pair[1].version] = (rank, pair)
    return _sort_newest_first(pair for _, pair in best.values())


def _select_portable(tags: dict[Tag, int]) -> dict[Tag, int]:
    return {tag: rank for tag, rank in tags.items() if not tag.platform.startswith("linux_")}
