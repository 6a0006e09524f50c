"""Which conda packages have to do with PIL, and how a command of conda's is worded for an environment. Pure."""

import shlex
from collections.abc import Iterable

from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import Recipe
from fastinstall.rules.conda_stack import CHANNEL, GUARD

TURBO, IJG, TIFF = "libjpeg-turbo", "jpeg", "libtiff"


def providers(recipe: Recipe) -> frozenset[str]:
    """Names under which conda packages provide what a recipe replaces."""
    names = (*recipe.replaces, recipe.source.pypi, recipe.source.chassis)
    return frozenset(name.lower().replace("_", "-") for name in names)


def replaced_packages(conda: Conda, recipe: Recipe) -> tuple[CondaPackage, ...]:
    """The installed packages that make room for ours: those that provide PIL, and a guard package."""
    names = {*providers(recipe), GUARD}
    return tuple(package for package in conda.packages if package.name in names)


def conda_command(facts: Facts, verb: str, *words: str) -> str:
    """A command of conda's on this environment, that can be pasted."""
    tool = facts.conda.tool if facts.conda is not None else None
    start = tool.command if tool is not None else ("conda",)
    return shlex.join((*start, verb, "--prefix", str(facts.environment.prefix), *words))


def foreign_channels(channels: Iterable[str]) -> tuple[str, ...]:
    """Channels less the one that we keep inside an environment, each once."""
    return tuple(dict.fromkeys(channel for channel in channels if channel and not channel.endswith(CHANNEL)))
