"""Whose a file is: the wheel's, the environment's, the system's, or another environment's, told by its path alone."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.environment import EnvironmentKind
from fastinstall.rules.checks._conda import is_unclaimed, package_of
from fastinstall.rules.checks._context import CheckContext

_SHARED = frozenset(map(PurePath, ("/", "/usr", "/usr/local")))
_SYSTEM = tuple(f"{root}/lib{bits}" for root in ("", "/usr", "/usr/local") for bits in ("", "32", "64"))
_MARKS = frozenset({"site-packages", "dist-packages", "envs", "venv", ".venv", ".pixi", "conda-meta"})
_CONDAS = ("conda", "miniconda", "anaconda", "miniforge", "mambaforge", "micromamba")


class Place(StrEnum):
    """Whose directory a file lies in."""

    PACKAGES = "site-packages"
    ENVIRONMENT = "this environment"
    SYSTEM = "the operating system"
    OTHER_ENVIRONMENT = "another environment"
    ELSEWHERE = "elsewhere"


def place_of(context: CheckContext, path: PurePath) -> Place:
    """Tell whose directory a file lies in; that of the base interpreter counts as this environment's."""
    facts = context.facts
    homes = {facts.environment.prefix, facts.interpreter.prefix, facts.interpreter.base_prefix} - _SHARED
    if path.is_relative_to(facts.interpreter.site_packages):
        return Place.PACKAGES
    if any(path.is_relative_to(home) for home in homes) or _is_same_environment(path, facts.environment.prefix):
        return Place.ENVIRONMENT
    if any(path.is_relative_to(directory) for directory in _SYSTEM):
        return Place.SYSTEM
    return Place.OTHER_ENVIRONMENT if _looks_like_an_environment(path) else Place.ELSEWHERE


def whose(context: CheckContext, path: PurePath) -> str:
    """Say whose a file is: "pillow.libs of pillow 13.0.0", "this conda environment's jpeg-9e-h166bdaf_2"."""
    place = place_of(context, path)
    if place is Place.PACKAGES:
        return _package(context, path)
    if place is Place.ENVIRONMENT and _is_of_the_base(context, path):
        return "the base interpreter's"
    if place is Place.ENVIRONMENT:
        return _of_environment(context, path)
    return {
        Place.SYSTEM: "the operating system's",
        Place.OTHER_ENVIRONMENT: "another environment's",
        Place.ELSEWHERE: "of a place outside this environment",
    }[place]


def _of_environment(context: CheckContext, path: PurePath) -> str:
    """With the package of conda's, as far as it is known."""
    conda = "conda " if context.facts.environment.kind is EnvironmentKind.CONDA else ""
    package = package_of(context, path)
    unclaimed = ", and none of conda's packages claims it" if is_unclaimed(context, path) else ""
    return f"this {conda}environment's{f' {package}' if package else unclaimed}"


def _is_of_the_base(context: CheckContext, path: PurePath) -> bool:
    facts = context.facts
    return path.is_relative_to(facts.interpreter.base_prefix) and not path.is_relative_to(facts.environment.prefix)


def _package(context: CheckContext, path: PurePath) -> str:
    """The top-level name in site-packages, with the distribution where it is known."""
    facts = context.facts
    top = path.relative_to(facts.interpreter.site_packages).parts[0]
    owners = (owner.distribution for owner in facts.stack.owners if top in owner.entries)
    named = (each for each in facts.distributions if each.name.replace("-", "_") == top.removesuffix(".libs").lower())
    owner = next(owners, None) or next(named, None)
    return f"{top} of {owner.name} {owner.version}" if owner is not None else f"{top} in site-packages"


def _is_same_environment(path: PurePath, prefix: PurePath) -> bool:
    """Whether the path goes through a directory that ends as the prefix does: "envs/fast", reached by another link."""
    end = prefix.parts[-2:]
    return any(directory.parts[-2:] == end for directory in path.parents if len(directory.parts) > len(end))


def _looks_like_an_environment(path: PurePath) -> bool:
    return any(part in _MARKS or part.rstrip("0123456789").lower() in _CONDAS for part in path.parts)
