"""The local version label of our wheels, which names their CPU levels."""

from collections.abc import Sequence

from fastinstall.core.architecture import level_label
from fastinstall.core.version_numbers import base_version
from fastinstall.model.recipe import Recipe


def make_labelled_version(recipe: Recipe, version: str, levels: Sequence[str], dist_name: str) -> str:
    """Return the version of the built wheel, with its local label (PEP 440).

    Args:
        recipe: for the first part of the label.
        version: of the source that is built.
        levels: names of the wheel's levels, the baseline first.
        dist_name: name of the built distribution.

    Returns:
        "12.1.1+simd.v3", or "13.0.0+simd.v2.v3" with several levels.
    """
    keeps = dist_name == recipe.source.pypi and dist_name != recipe.source.base_wheel
    public = version if keeps else base_version(version)
    return ".".join((f"{public}+{recipe.source.label}", *map(level_label, levels)))


def parse_labelled_levels(recipe: Recipe, version: str) -> tuple[str, ...]:
    """Return the levels in a label, the baseline first; none if it is not one of this recipe's."""
    label, prefix = version.partition("+")[2], f"{recipe.source.label}."
    told = label.removeprefix(prefix).split(".") if label.startswith(prefix) else []
    known = [level.name for level in reversed(recipe.levels) if level_label(level.name) in told]
    return tuple(known) if len(known) == len(told) else ()
