"""How a project of poetry is pinned: a dependency group of ours that takes Pillow from our wheel where that runs. Pure.

A group, because it leaves alone what the project itself requires and publishes; poetry resolves all groups together, so
that the lock holds our wheel for the others too, and `poetry install --only main` installs it. Elsewhere than where the
wheel runs, the group asks for nothing but a version that is not ours.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import Addition, KeyAddition, read_table, read_texts
from fastinstall.pins.markers import WHEELS, parse_requirement_name
from fastinstall.pins.tool import (
    Locking,
    Manifest,
    Payload,
    Pinned,
    PinTool,
    ProjectSign,
    make_foreign_setting_refusal,
    version_of,
)

_GROUP = "fastinstall"
_TABLE = ("tool", "poetry", "group", _GROUP, "dependencies")
_INDENT = "    "


class Poetry:
    """The tool."""

    name = "poetry"
    manifests: tuple[str, ...] = ("pyproject.toml",)
    lock = "poetry.lock"
    beside: tuple[str, ...] = ()
    sync = "poetry install"
    payload = Payload.WHEEL
    locking = Locking(
        check=("check", "--lock"),
        lock=("lock", "--no-interaction"),
        why="poetry show --why pillow",
        variables={"POETRY_VIRTUALENVS_CREATE": "false"},
        drops=("POETRY_PROJECT",),
    )

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Its lock, or [tool.poetry]."""
        return (
            ProjectSign.LOCK if self.lock in files else ProjectSign.TABLE if self.name in tables else ProjectSign.NONE
        )

    def list_additions(self, text: str, pinned: Pinned) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        build = pinned.wheel
        here = f'{{ path = "{WHEELS}/{build.wheel}", markers = "{build.here}" }}'
        elsewhere = [f'{{ version = "!={build.version}", markers = "{marker}" }}' for marker in build.elsewhere]
        literal = "\n".join(("[", *(f"{_INDENT}{each}," for each in (here, *elsewhere)), "]"))
        return (KeyAddition(table=_TABLE, key=build.name, literal=literal),)

    def refuse_foreign(self, manifest: Manifest, pinned: Pinned) -> None:
        """Raise if somebody else's setting decides on the distribution already."""
        name = pinned.wheel.name
        for found in _list_foreign(toml_data(manifest.text), name):
            raise make_foreign_setting_refusal(manifest.path, name, found, self.list_additions(manifest.text, pinned))

    def prepare_lock(self, manifest: str, lock: str, pinned: Pinned) -> str:
        """As it is: the resolver sees everything that is required."""
        return lock

    def format_pin_words(self, requirement: str) -> str:
        """The version."""
        return version_of(requirement)

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """Nothing: the lock says it all."""
        return ""


TOOL: PinTool = Poetry()


def _list_foreign(content: dict[str, Any], name: str) -> Iterator[str]:
    """What of others decides on the distribution in pyproject.toml already, each with its place."""
    poetry = ("tool", "poetry")
    groups = {key: read_table(content, (*poetry, key)) for key in ("dependencies", "dev-dependencies")}
    for group in read_table(content, (*poetry, "group")):
        groups[f"group.{group}.dependencies"] = read_table(content, (*poetry, "group", group, "dependencies"))
    for group, dependencies in groups.items():
        for key, value in dependencies.items():
            origins = {"path", "url", "git", "file", "source"}
            if parse_requirement_name(key) == name and (f"group.{_GROUP}." in group or _list_keys(value) & origins):
                yield f"[tool.poetry.{group}] has {key} = {value}"
    for requirement in read_texts(content, ("project", "dependencies")):
        if parse_requirement_name(requirement) == name and "@" in requirement:
            yield f"[project] requires {requirement!r}"


def _list_keys(value: Any) -> set[str]:  # noqa: ANN401 (a value of TOML)
    if isinstance(value, list):
        return {key for each in value for key in _list_keys(each)}
    return set(value) if isinstance(value, dict) else set()
