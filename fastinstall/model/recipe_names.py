"""Recipes that were renamed: whoever names one by its former name means the one of today. Pure.

A receipt says by which name its stack was built; that stays, so that a setup builds the stack anew.
"""

from typing import Any

FORMER = {"pillow-merged": "pillow-fast"}
"""Today's name by the former one. No other recipe may have a former name."""

_GONE = ("kernels", "base")
"""Of a step that builds: the sdists of a fork, which earlier versions merged."""


def find_current_name(name: str) -> str:
    """Return today's name of a recipe."""
    return FORMER.get(name, name)


def describe_renaming(name: str) -> str:
    """Return a sentence that a recipe was renamed; empty if it was not."""
    return f"recipe {name} is now {FORMER[name]}" if name in FORMER else ""


def rename_in_plan(data: Any) -> Any:  # noqa: ANN401 (JSON is what it is)
    """Return a saved plan as today's version would write it, if the recipe of its request was renamed.

    Args:
        data: from the JSON parser.
    """
    request = data.get("wish") if isinstance(data, dict) else None
    steps = data.get("steps") if isinstance(data, dict) else None
    if not isinstance(request, dict) or not isinstance(steps, list):
        return data
    return {**data, "wish": rename_in_request(request), "steps": [_rename_in_step(step) for step in steps]}


def rename_in_request(data: Any) -> Any:  # noqa: ANN401 (likewise)
    """Return a request, or another table that names a recipe, with today's name of it."""
    name = data.get("recipe") if isinstance(data, dict) else None
    return {**data, "recipe": find_current_name(name)} if isinstance(name, str) else data


def _rename_in_step(data: Any) -> Any:  # noqa: ANN401 (likewise)
    if not isinstance(data, dict) or data.get("kind") != "build":
        return data
    is_renamed = data.get("recipe") in FORMER
    kept = {key: item for key, item in data.items() if key not in _GONE or (item is not None and not is_renamed)}
    return rename_in_request(kept)
