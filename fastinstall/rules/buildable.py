"""What of the releases a recipe can build from, or take as it is, for this machine and this wish. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.cpu import Cpu
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.choose import in_order, serves
from fastinstall.rules.labels import labelled_levels
from fastinstall.rules.numbering import base_version
from fastinstall.rules.wishes import asked_levels


def buildable(releases: Releases, recipe: Recipe, cpu: Cpu, wish: Wish) -> Releases:
    """What is left of the releases: sources that the recipe can build, and wheels of ours with the levels wished for.

    Where no level is named, a wheel will do that runs on this CPU at its best. Of several wheels of one version the
    one with the recipe's own choice of levels is left, else the one with the fewest.

    Raises:
        RefusedError: the CPU is below the lowest level of the recipe.
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (slow to import; only where versions are compared)

    known = SpecifierSet(recipe.source.versions)
    return replace(
        releases,
        sources=tuple(source for source in releases.sources if known.contains(source.version, prereleases=True)),
        prebuilt=_preferred(recipe, [wheel for wheel in releases.prebuilt if _will_do(recipe, cpu, wish, wheel)]),
    )


def _will_do(recipe: Recipe, cpu: Cpu, wish: Wish, wheel: Artefact) -> bool:
    levels, asked = labelled_levels(recipe, wheel.version), asked_levels(wish)
    if asked:
        return levels == tuple(level.name for level in in_order(recipe, asked))
    return serves(recipe, cpu, levels)


def _preferred(recipe: Recipe, wheels: Iterable[Artefact]) -> tuple[Artefact, ...]:
    usual = tuple(level.name for level in reversed(recipe.levels) if level.automatic)

    def rank(wheel: Artefact) -> tuple[bool, int]:
        levels = labelled_levels(recipe, wheel.version)
        return levels != usual, len(levels)

    best: dict[tuple[str, str], Artefact] = {}
    for wheel in wheels:
        key = (wheel.name, base_version(wheel.version))
        best[key] = min(best.get(key, wheel), wheel, key=rank)
    return tuple(best.values())
