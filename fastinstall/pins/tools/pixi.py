"""How a workspace of pixi is pinned: a channel of ours before the others, and a dependency on its build. Pure.

The dependency stands in the table of the platform that the build is for, so that other platforms of the workspace, and
a `pillow = "*"` among its dependencies, stay as they are.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.model.conda_packages import pin_line
from fastinstall.pins.manifests import Addition, ArrayAddition, KeyAddition, find_table, format_additions, read_table
from fastinstall.pins.tool import CHANNEL, Locking, Manifest, Payload, Pinned, PinTool, ProjectSign


class Pixi:
    """The tool."""

    name = "pixi"
    manifests: tuple[str, ...] = ("pixi.toml", "pyproject.toml")
    lock = "pixi.lock"
    beside: tuple[str, ...] = ()
    sync = "pixi install"
    payload = Payload.CHANNEL
    locking: Locking | None = None

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Its manifest, its lock, or [tool.pixi]."""
        if "pixi.toml" in files:
            return ProjectSign.MANIFEST
        return (
            ProjectSign.LOCK if self.lock in files else ProjectSign.TABLE if self.name in tables else ProjectSign.NONE
        )

    def list_additions(self, text: str, pinned: Pinned) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        package = pinned.conda
        root = _find_root(toml_data(text))
        name, version, build = pin_line(package).split()
        literal = f'{{ version = "{version}", build = "{build}" }}'
        return (
            ArrayAddition(
                table=(*root, _name_workspace(text, root)), key="channels", items=(f"./{CHANNEL}",), first=True
            ),
            KeyAddition(table=(*root, "target", package.subdir, "dependencies"), key=name, literal=literal),
        )

    def refuse_foreign(self, manifest: Manifest, pinned: Pinned) -> None:
        """Raise if the workspace says for that platform which Pillow it wants."""
        content, package = toml_data(manifest.text), pinned.conda
        root = _find_root(content)
        for kind in ("dependencies", "pypi-dependencies"):
            for table in ((*root, "target", package.subdir, kind), (*root, kind)):
                found = read_table(content, table).get(package.name)
                if found is not None and (kind != "dependencies" or "target" in table):
                    raise RefusedError(
                        f"[{'.'.join(table)}] has {package.name} = {found!r} already",
                        hint="take that out, or go without --pin",
                        details=("the pin would add:", *format_additions(self.list_additions(manifest.text, pinned))),
                    )

    def prepare_lock(self, manifest: str, lock: str, pinned: Pinned) -> str:
        """As it is: the resolver sees everything that is required."""
        return lock

    def format_pin_words(self, requirement: str) -> str:
        """The channel."""
        return CHANNEL

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """Say that nobody has tried it."""
        return f"pixi has not tried it: look at what `pixi lock` says in {directory}"


TOOL: PinTool = Pixi()


def _find_root(content: dict[str, Any]) -> tuple[str, ...]:
    return ("tool", "pixi") if isinstance(find_table(content, ("tool", "pixi")), dict) else ()


def _name_workspace(text: str, root: tuple[str, ...]) -> str:
    """The name of the table that has the channels; older manifests call it "project"."""
    return "project" if "channels" in read_table(toml_data(text), (*root, "project")) else "workspace"
