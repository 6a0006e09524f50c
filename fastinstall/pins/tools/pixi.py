"""How a workspace of pixi is pinned: a channel of ours before the others, and a dependency on its build. Pure.

The dependency stands in the table of the platform that the build is for, so that other platforms of the workspace, and
a `pillow = "*"` among its dependencies, stay as they are.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.parsing import toml_data
from fastinstall.model.conda_pins import pin_line
from fastinstall.pins.manifests import Addition, ArrayAddition, KeyAddition, find_table, read_table
from fastinstall.pins.markers import PinnedPackage
from fastinstall.pins.tool import Manifest, PinTool, ProjectSign

_OUR_BUILD = re.compile(r"""build\s*=\s*["'](?P<build>[a-z]+_\*)["']""")


class Pixi(PinTool[PinnedPackage]):
    """The tool."""

    name = "pixi"
    manifests = ("pixi.toml", "pyproject.toml")
    lock = "pixi.lock"
    sync = "pixi install"
    takes_packages = True

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Its manifest, its lock, or [tool.pixi]."""
        if "pixi.toml" in files:
            return ProjectSign.MANIFEST
        return super().sign(files, tables)

    def list_additions(self, text: str, pinned: PinnedPackage) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        root = _find_root(toml_data(text))
        name, version, build = pin_line(pinned.package).split()
        place = pinned.directory
        channel = place.as_uri() if place.is_absolute() else f"./{place}"
        literal = f'{{ version = "{version}", build = "{build}" }}'
        return (
            ArrayAddition(table=(*root, _name_workspace(text, root)), key="channels", items=(channel,), first=True),
            KeyAddition(table=(*root, "target", pinned.package.subdir, "dependencies"), key=name, literal=literal),
        )

    def list_foreign(self, manifest: Manifest, pinned: PinnedPackage) -> Iterator[str]:
        """Where the workspace says for that platform which Pillow it wants."""
        content = toml_data(manifest.text)
        root = _find_root(content)
        target = (*root, "target", pinned.package.subdir)
        for table in ((*target, "dependencies"), (*target, "pypi-dependencies"), (*root, "pypi-dependencies")):
            found = read_table(content, table).get(pinned.name)
            if found is not None:
                yield f"[{'.'.join(table)}] has {pinned.name} = {found!r}"

    def find_pinned(self, text: str) -> str:
        """Find the build string of ours that the manifest asks for: "simd_*"."""
        found = _OUR_BUILD.search(text)
        return found["build"] if found is not None else ""

    def describe_caution(self, directory: PurePath, pinned: PinnedPackage) -> str:
        """Say that nobody has tried it."""
        return f"the pin was not tried with pixi: check the output of `pixi lock` in {directory}"


TOOL = Pixi()


def _find_root(content: dict[str, Any]) -> tuple[str, ...]:
    return ("tool", "pixi") if isinstance(find_table(content, ("tool", "pixi")), dict) else ()


def _name_workspace(text: str, root: tuple[str, ...]) -> str:
    """The name of the table that has the channels; older manifests call it "project"."""
    return "project" if "channels" in read_table(toml_data(text), (*root, "project")) else "workspace"
