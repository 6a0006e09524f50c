"""How a project of poetry is pinned: a dependency group of ours that takes Pillow from our wheel where that runs. Pure.

A group, because it leaves alone what the project itself requires and publishes; poetry resolves all groups together, so
that the lock holds our wheel for the others too, and `poetry install --only main` installs it. Elsewhere than where the
wheel runs, the group asks for nothing but a version that is not ours.
"""

from collections.abc import Iterator
from typing import Any

from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import Addition, KeyAddition, read_table, read_texts
from fastinstall.pins.markers import PinnedBuild, parse_requirement_name
from fastinstall.pins.tool import Locking, Manifest, PinTool

_GROUP = "fastinstall"
_POETRY = ("tool", "poetry")
_ORIGINS = {"path", "url", "git", "file", "source"}
_INDENT = "    "


class Poetry(PinTool[PinnedBuild]):
    """The tool."""

    name = "poetry"
    lock = "poetry.lock"
    sync = "poetry install"
    locking = Locking(
        check=("check", "--lock"),
        lock=("lock", "--no-interaction"),
        why="poetry show --why pillow",
        variables={"POETRY_VIRTUALENVS_CREATE": "false"},
        drops=("POETRY_PROJECT",),
    )

    def list_additions(self, text: str, pinned: PinnedBuild) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        here = f'{{ path = "{pinned.directory / pinned.wheel}", markers = "{pinned.here}" }}'
        elsewhere = [f'{{ version = "!={pinned.version}", markers = "{marker}" }}' for marker in pinned.elsewhere]
        literal = "\n".join(("[", *(f"{_INDENT}{each}," for each in (here, *elsewhere)), "]"))
        return (KeyAddition(table=(*_POETRY, "group", _GROUP, "dependencies"), key=pinned.name, literal=literal),)

    def list_foreign(self, manifest: Manifest, pinned: PinnedBuild) -> Iterator[str]:
        """Entries of pyproject.toml that name a place, or stand in our group."""
        content = toml_data(manifest.text)
        paths: list[tuple[str, ...]] = [("dependencies",), ("dev-dependencies",)]
        paths += [("group", group, "dependencies") for group in read_table(content, (*_POETRY, "group"))]
        for path in paths:
            for key, value in read_table(content, (*_POETRY, *path)).items():
                decides = _GROUP in path or _list_keys(value) & _ORIGINS
                if decides and parse_requirement_name(key) == pinned.name:
                    yield f"[tool.poetry.{'.'.join(path)}] has {key} = {value}"
        for requirement in read_texts(content, ("project", "dependencies")):
            if parse_requirement_name(requirement) == pinned.name and "@" in requirement:
                yield f"[project] requires {requirement!r}"


TOOL = Poetry()


def _list_keys(value: Any) -> set[str]:  # noqa: ANN401 (a value of TOML)
    if isinstance(value, list):
        return {key for each in value for key in _list_keys(each)}
    return set(value) if isinstance(value, dict) else set()
