"""How a workspace of pixi is pinned: a channel before the others, and a dependency on its build. Pure.

The dependency stands in the table of the platform that the build is for, so that other platforms of the workspace, and
a `pillow = "*"` among its dependencies, stay as they are.
"""

import re
from pathlib import PurePath

from fastinstall.core.file_url import file_url
from fastinstall.core.parsing import toml_data
from fastinstall.model.dependants import pin_line
from fastinstall.pins.manifests import BY, MARK, quote_toml
from fastinstall.pins.tool import PinnedPackage, PinTool


class Pixi(PinTool[PinnedPackage]):
    """The tool."""

    name = "pixi"
    manifests = ("pixi.toml", "pyproject.toml")
    lock = "pixi.lock"
    sync = "pixi install"
    takes_packages = True
    pinned = re.compile(r"""build\s*=\s*["']([a-z]+_\*)["']""")

    def format_lines(self, text: str, pinned: PinnedPackage) -> str:
        """Return the channel, and the build for its platform."""
        content = toml_data(text)
        of_pixi = content.get("tool", {}).get(self.name)
        root, tables = ("tool.pixi.", of_pixi) if of_pixi is not None else ("", content)
        workspace = "project" if "channels" in tables.get("project", {}) else "workspace"  # which older ones call so
        name, version, build = pin_line(pinned.package).split()
        place = pinned.directory
        return (
            f"[{root}{workspace}]\n"
            f"channels = [{quote_toml(file_url(place) if place.is_absolute() else f'./{place}')}]  {BY}\n\n"
            f"[{root}target.{pinned.package.subdir}.dependencies]\n"
            f'{name} = {{ version = "{version}", build = "{build}" }}  {MARK}\n'
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedPackage) -> str:
        """Say that nobody has tried it."""
        return f"the pin was not tried with pixi: check the output of `pixi lock` in {directory}"


TOOL = Pixi()
