"""Pin a hatch project: add a dependency to its default environment, and the directory of the wheel. Pure.

The project's other environments inherit both, unless they override them. hatch needs no lock, and installs with pip or
uv; as each reads a variable of its own, both variables are set. An installed stack satisfies the dependency.

A project that only builds with hatchling is not a hatch project: its manifest must have hatch environments.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import RefusedError
from fastinstall.core.file_url import file_url
from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import BY, format_array, quote_toml
from fastinstall.pins.tool import PinnedBuild, PinTool


class Hatch(PinTool[PinnedBuild]):
    """hatch."""

    name = "hatch"
    manifests = ("hatch.toml", "pyproject.toml")
    sync = "hatch env create"

    def rank_signs(self, there: frozenset[str], tables: Mapping[str, Any]) -> int:
        """Return 1 for hatch.toml or environments in [tool.hatch], else 0; a sign of any other tool is stronger."""
        hatch = tables.get(self.name)
        return int(self.manifests[0] in there or (isinstance(hatch, dict) and "envs" in hatch))

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return the dependency, and the variables that give pip and uv the wheel's directory."""
        content, place = toml_data(text), pinned.directory
        if "envs" not in content and "tool" not in content:
            raise RefusedError(
                "hatch.toml has no [envs], and adding it would hide the one in pyproject.toml",
                hint="move the environments of pyproject.toml to hatch.toml",
            )
        default = "envs.default" if "envs" in content else "tool.hatch.envs.default"
        # `{root:uri}`: hatch's placeholder for the project's directory
        url = quote_toml(file_url(place) if place.is_absolute() else f"{{root:uri}}/{place}")
        requirement = format_array((f'"{pinned.name}=={pinned.version} ; {pinned.here}"',))
        return (
            f"[{default}]\nextra-dependencies = {requirement}\n"
            f"[{default}.env-vars]\nPIP_FIND_LINKS = {url}  {BY}\nUV_FIND_LINKS = {url}  {BY}\n"
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Return a warning that the pin was not tried."""
        return (
            f"the pin was not tried with hatch: check the output of `hatch env create` in {directory}; "
            "an environment that hatch locks ignores it"
        )


TOOL = Hatch()
