"""The words that may stand behind flags and that the parser itself does not know: recipes, checks, levels, risks."""

from collections.abc import Iterable, Mapping

from fastinstall.bench.adapting import all_adapters
from fastinstall.bench.candidates import FASTINSTALL, OFFICIAL_WHEEL, TOGETHER
from fastinstall.bench.photos import WORKLOADS
from fastinstall.bench.settings import SETTINGS
from fastinstall.bench.store_kinds import all_kinds
from fastinstall.cli.bench_exports import EXPORTS
from fastinstall.model.conda import Engine
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import DIST_NAMES, LinkMode, Risk, ToolchainSource
from fastinstall.rules.checks import check_names, load_check

_NATIVE = "native"
"""A level that is no level: it stands for itself, never beside others."""

Vocabulary = Mapping[str, Mapping[str, str]]
"""Words with what they mean (or nothing), by the parser's name of the argument that takes them."""


def vocabulary(recipes: Iterable[Recipe]) -> Vocabulary:
    """Everything that can be named.

    Args:
        recipes: those that there are.
    """
    known = tuple(recipes)
    names = {recipe.name: recipe.summary for recipe in known}
    levels = _bare(level.name for recipe in known for level in recipe.levels if level.name != _NATIVE)
    return {
        "wish_recipe": names,
        "prove": names,
        "checks": {name: load_check(name).SUMMARY for name in check_names(foreign=True)},
        "wish_level": {**_bare(("auto",)), **levels, **_bare((_NATIVE,))},
        "wish_levels": levels,
        "wish_require": _bare(library for recipe in known for library in recipe.libraries),
        "wish_link": _bare(LinkMode),
        "wish_toolchain": _bare(ToolchainSource),
        "wish_engine": _bare(Engine),
        "wish_dist_name": _bare(DIST_NAMES),
        "wish_allow": _bare(Risk),
        **_of_bench(),
    }


def _of_bench() -> Vocabulary:
    decoders = {each.name: each.title for each in all_adapters()}
    stores = {each.name: each.title for each in all_kinds()}
    settings = {each.name: each.title for each in SETTINGS}
    stacks = _bare((FASTINSTALL, OFFICIAL_WHEEL))
    return {
        "workload": WORKLOADS,
        "candidates": {**stacks, **decoders, **settings, **stores, **_bare((TOGETHER,))},
        "bring": {**_bare(("all",)), **decoders, **stores},
        "print_code": {**decoders, **stores},
        "export": _bare(f"{name}=" for name in EXPORTS),
    }


def _bare(words: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(map(str, words), "")
