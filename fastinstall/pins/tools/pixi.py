"""Pin a pixi workspace: add a channel before the others, and a dependency on the build in it. Pure.

The dependency is in the table of the build's platform, so that other platforms of the workspace, and a `pillow = "*"`
among its dependencies, are not affected.
"""

import re
from pathlib import PurePath

from fastinstall.core.file_url import file_url
from fastinstall.core.parsing import toml_data
from fastinstall.model.dependants import pin_line
from fastinstall.pins.manifests import BY, MARK, quote_toml
from fastinstall.pins.tool import PinnedPackage, PinTool


class Pixi(PinTool[PinnedPackage]):
    """pixi."""

    name = "pixi"
    manifests = ("pixi.toml", "pyproject.toml")
    lock = "pixi.lock"
    sync = "pixi install"
    takes_packages = True
    pinned = re.compile(r"""build\s*=\s*["']([a-z]+_\*)["']""")

    def format_lines(self, text: str, pinned: PinnedPackage) -> str:
        """Return the channel, and a dependency on the build for its platform."""
        content = toml_data(text)
        of_pixi = content.get("tool", {}).get(self.name)
        root, tables = ("tool.pixi.", of_pixi) if of_pixi is not None else ("", content)
        workspace = "project" if "channels" in tables.get("project", {}) else "workspace"  # the older name of the table
        name, version, build = pin_line(pinned.package).split()
        place = pinned.directory
        return (
            f"[{root}{workspace}]\n"
            f"channels = [{quote_toml(file_url(place) if place.is_absolute() else f'./{place}')}]  {BY}\n\n"
            f"[{root}target.{pinned.package.subdir}.dependencies]\n"
            f'{name} = {{ version = "{version}", build = "{build}" }}  {MARK}\n'
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedPackage) -> str:
        """Return a warning that the pin was not tried."""
        return f"the pin was not tried with pixi: check the output of `pixi lock` in {directory}"


TOOL = Pixi()
