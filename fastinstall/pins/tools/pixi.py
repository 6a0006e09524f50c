"""How a workspace of pixi is pinned: a channel of ours before the others, and a dependency on its build. Pure.

The dependency stands in the table of the platform that the build is for, so that other platforms of the workspace, and
a `pillow = "*"` among its dependencies, stay as they are.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.parsing import toml_data
from fastinstall.model.conda import CondaPackage
from fastinstall.model.conda_packages import pin_line
from fastinstall.pins.manifests import Addition, ArrayAddition, KeyAddition, find_table, read_table
from fastinstall.pins.tool import CHANNEL, Manifest, PinTool, ProjectSign


class Pixi(PinTool[CondaPackage]):
    """The tool."""

    name = "pixi"
    manifests = ("pixi.toml", "pyproject.toml")
    lock = "pixi.lock"
    sync = "pixi install"
    payload = CHANNEL

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Its manifest, its lock, or [tool.pixi]."""
        if "pixi.toml" in files:
            return ProjectSign.MANIFEST
        return super().sign(files, tables)

    def list_additions(self, text: str, pinned: CondaPackage) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        root = _find_root(toml_data(text))
        name, version, build = pin_line(pinned).split()
        literal = f'{{ version = "{version}", build = "{build}" }}'
        return (
            ArrayAddition(
                table=(*root, _name_workspace(text, root)), key="channels", items=(f"./{CHANNEL}",), first=True
            ),
            KeyAddition(table=(*root, "target", pinned.subdir, "dependencies"), key=name, literal=literal),
        )

    def list_foreign(self, manifest: Manifest, pinned: CondaPackage) -> Iterator[str]:
        """Where the workspace says for that platform which Pillow it wants."""
        content = toml_data(manifest.text)
        root = _find_root(content)
        target = (*root, "target", pinned.subdir)
        for table in ((*target, "dependencies"), (*target, "pypi-dependencies"), (*root, "pypi-dependencies")):
            found = read_table(content, table).get(pinned.name)
            if found is not None:
                yield f"[{'.'.join(table)}] has {pinned.name} = {found!r}"

    def format_pin_words(self, requirement: str) -> str:
        """The channel."""
        return CHANNEL

    def describe_caution(self, directory: PurePath, pinned: CondaPackage) -> str:
        """Say that nobody has tried it."""
        return f"the pin was not tried with pixi: check the output of `pixi lock` in {directory}"


TOOL = Pixi()


def _find_root(content: dict[str, Any]) -> tuple[str, ...]:
    return ("tool", "pixi") if isinstance(find_table(content, ("tool", "pixi")), dict) else ()


def _name_workspace(text: str, root: tuple[str, ...]) -> str:
    """The name of the table that has the channels; older manifests call it "project"."""
    return "project" if "channels" in read_table(toml_data(text), (*root, "project")) else "workspace"
