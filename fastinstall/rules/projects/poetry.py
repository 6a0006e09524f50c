"""How a project of poetry is pinned: a dependency group of ours that takes Pillow from our wheel where that runs. Pure.

A group, because it leaves alone what the project itself requires and publishes; poetry resolves all groups together, so
that the lock holds our wheel for the others too, and `poetry install --only main` installs it. Elsewhere than where the
wheel runs, the group asks for nothing but a version that is not ours.
"""

from collections.abc import Iterator
from typing import Any

from fastinstall.rules.projects.additions import Addition, Setting, table_at
from fastinstall.rules.projects.build import WHEELS, PinnedBuild
from fastinstall.rules.projects.names import named_in

_GROUP = "fastinstall"
_TABLE = ("tool", "poetry", "group", _GROUP, "dependencies")
_INDENT = "    "


def additions(build: PinnedBuild) -> tuple[Addition, ...]:
    """What pyproject.toml has to say."""
    here = f'{{ path = "{WHEELS}/{build.wheel}", markers = "{build.here}" }}'
    elsewhere = [f'{{ version = "!={build.version}", markers = "{marker}" }}' for marker in build.elsewhere]
    literal = "\n".join(("[", *(f"{_INDENT}{each}," for each in (here, *elsewhere)), "]"))
    return (Setting(table=_TABLE, key=build.name, literal=literal),)


def foreign(content: dict[str, Any], name: str) -> Iterator[str]:
    """What of others decides on the distribution in pyproject.toml already, each with its place."""
    poetry = table_at(content, ("tool", "poetry")) or {}
    groups = {"dependencies": poetry.get("dependencies", {}), "dev-dependencies": poetry.get("dev-dependencies", {})}
    for group, table in poetry.get("group", {}).items():
        groups[f"group.{group}.dependencies"] = table.get("dependencies", {})
    for group, dependencies in groups.items():
        for key, value in dependencies.items():
            origins = {"path", "url", "git", "file", "source"}
            if named_in(key) == name and (f"group.{_GROUP}." in group or _keys(value) & origins):
                yield f"[tool.poetry.{group}] has {key} = {value}"
    for requirement in table_at(content, ("project", "dependencies")) or ():
        if named_in(requirement) == name and "@" in requirement:
            yield f"[project] requires {requirement!r}"


def _keys(value: Any) -> set[str]:  # noqa: ANN401 (a value of TOML)
    if isinstance(value, list):
        return {key for each in value for key in _keys(each)}
    return set(value) if isinstance(value, dict) else set()
