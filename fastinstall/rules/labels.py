"""The local version label of a wheel of ours, which tells the CPU levels in it. Pure."""

from collections.abc import Sequence

from fastinstall.model.recipe import Recipe
from fastinstall.rules.numbering import base_version

_PREFIX = "x86-64-"


def labelled_version(recipe: Recipe, version: str, levels: Sequence[str], dist_name: str) -> str:
    """The version of the wheel that is made, with its local label (PEP 440).

    Args:
        recipe: gives the first part of the label.
        version: of the source.
        levels: names of those in the wheel, the baseline first.
        dist_name: name of the distribution that is made.

    Returns:
        "12.1.1+simd.v3", or "13.0.0+simd.v2.v3" where it carries several.
    """
    keeps = dist_name == recipe.source.pypi and dist_name != recipe.source.chassis
    public = version if keeps else base_version(version)
    return ".".join((f"{public}+{recipe.source.label}", *(name.removeprefix(_PREFIX) for name in levels)))


def labelled_levels(recipe: Recipe, version: str) -> tuple[str, ...]:
    """The levels that a label tells, the baseline first; none where it is not one of this recipe's."""
    label, prefix = version.partition("+")[2], f"{recipe.source.label}."
    told = label.removeprefix(prefix).split(".") if label.startswith(prefix) else []
    known = [level.name for level in reversed(recipe.levels) if level.name.removeprefix(_PREFIX) in told]
    return tuple(known) if len(known) == len(told) else ()
