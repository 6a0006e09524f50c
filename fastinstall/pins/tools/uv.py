"""How a project of uv is pinned: a constraint for where our wheel runs, and a directory to find it in. Pure.

A constraint, not an override: an override replaces what everybody else says of Pillow, on every platform. With one, uv
0.13 took `uv add pillow==12.2.0`, locked our 13.0.0, and said nothing; with the constraint it refuses, and names both.

Elsewhere than where the wheel runs, our version is excluded, and everything else stays as it is without a pin. The
directory is a registry to uv, so that `uv sync` finds the stack in place satisfied, and does not install it again.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import Addition, ArrayAddition, read_table, read_texts
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

_TABLE = ("tool", "uv")
_LISTS = ("constraint-dependencies", "override-dependencies", "exclude-dependencies")


class Uv:
    """The tool."""

    name = "uv"
    manifests: tuple[str, ...] = ("pyproject.toml",)
    lock = "uv.lock"
    beside: tuple[str, ...] = ("uv.toml",)
    sync = "uv sync"
    payload = Payload.WHEEL
    locking = Locking(
        check=("lock", "--check"),
        lock=("lock",),
        why="uv tree --invert --package pillow",
        names_python=True,
        variables={"UV_PYTHON_DOWNLOADS": "never"},
        drops=("UV_FROZEN", "UV_LOCKED", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIRECTORY"),
    )

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Its lock, or [tool.uv]."""
        return (
            ProjectSign.LOCK if self.lock in files else ProjectSign.TABLE if self.name in tables else ProjectSign.NONE
        )

    def list_additions(self, text: str, pinned: Pinned) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        build = pinned.wheel
        excluded = f"{build.name}!={build.version}"
        constraints = (f"{build.requirement} ; {build.here}", *(f"{excluded} ; {marker}" for marker in build.elsewhere))
        return (
            ArrayAddition(table=_TABLE, key="constraint-dependencies", items=constraints),
            ArrayAddition(table=_TABLE, key="find-links", items=(WHEELS,)),
        )

    def refuse_foreign(self, manifest: Manifest, pinned: Pinned) -> None:
        """Raise if somebody else's setting decides on the distribution already."""
        name = pinned.wheel.name
        for found in _list_foreign(toml_data(manifest.text), name):
            raise make_foreign_setting_refusal(manifest.path, name, found, self.list_additions(manifest.text, pinned))
        for settings in manifest.beside.values():
            _refuse_hidden(settings, manifest.path)

    def prepare_lock(self, manifest: str, lock: str, pinned: Pinned) -> str:
        """As it is: the resolver sees everything that is required."""
        return lock

    def format_pin_words(self, requirement: str) -> str:
        """The version."""
        return version_of(requirement)

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """Nothing: the lock says it all."""
        return ""


TOOL: PinTool = Uv()


def _list_foreign(content: dict[str, Any], name: str) -> Iterator[str]:
    """What of others decides on the distribution in pyproject.toml already, each with its place."""
    for key in _LISTS:
        yield from (
            f"{key} has {item!r}"
            for item in read_texts(content, (*_TABLE, key))
            if parse_requirement_name(item) == name
        )
    for key, value in read_table(content, (*_TABLE, "sources")).items():
        if parse_requirement_name(key) == name:
            yield f"[tool.uv.sources] has {key} = {value}"


def _refuse_hidden(settings: str, manifest: PurePath) -> None:
    """Raise if a uv.toml hides the directory of our wheel.

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
