"""How a project of uv is pinned: a constraint for where our wheel runs, and a directory to find it in. Pure.

A constraint, not an override: an override replaces what everybody else says of Pillow, on every platform. With one, uv
0.13 took `uv add pillow==12.2.0`, locked our 13.0.0, and said nothing; with the constraint it refuses, and names both.

Elsewhere than where the wheel runs, our version is excluded, and everything else stays as it is without a pin. The
directory is a registry to uv, so that `uv sync` finds the stack in place satisfied, and does not install it again.
"""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fastinstall.errors import RefusedError
from fastinstall.model.parsing import toml_data
from fastinstall.rules.projects.additions import Addition, Items, table_at
from fastinstall.rules.projects.build import WHEELS, PinnedBuild
from fastinstall.rules.projects.names import named_in

_TABLE = ("tool", "uv")
_LISTS = ("constraint-dependencies", "override-dependencies", "exclude-dependencies")


def additions(build: PinnedBuild) -> tuple[Addition, ...]:
    """What pyproject.toml has to say."""
    excluded = f"{build.name}!={build.version}"
    constraints = (f"{build.requirement} ; {build.here}", *(f"{excluded} ; {marker}" for marker in build.elsewhere))
    return (
        Items(table=_TABLE, key="constraint-dependencies", items=constraints),
        Items(table=_TABLE, key="find-links", items=(WHEELS,)),
    )


def foreign(content: dict[str, Any], name: str) -> Iterator[str]:
    """What of others decides on the distribution in pyproject.toml already, each with its place."""
    table = table_at(content, _TABLE) or {}
    for key in _LISTS:
        yield from (
            f"{key} has {item!r}" for item in table.get(key, ()) if isinstance(item, str) and named_in(item) == name
        )
    for key, value in table.get("sources", {}).items():
        if named_in(key) == name:
            yield f"[tool.uv.sources] has {key} = {value}"


def refuse_hidden(settings: str, manifest: PurePath) -> None:
    """Raise where a uv.toml hides the directory of our wheel.

    Args:
        settings: what uv.toml beside the manifest says; its keys take the place of those of [tool.uv].
        manifest: the file that the pin would edit.

    Raises:
        RefusedError: with the line to add.
    """
    if WHEELS not in toml_data(settings).get("find-links", ()):
        raise RefusedError(
            f"{manifest.with_name('uv.toml')} takes the place of the settings of uv in {manifest.name}; "
            "nothing was changed",
            hint=f'add this to it, and then the same again: find-links = ["{WHEELS}"]',
        )
