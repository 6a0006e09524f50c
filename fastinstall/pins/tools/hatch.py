"""How a project of hatch is pinned: a dependency of its default environment, and a directory to find it in. Pure.

The other environments of the project inherit both, unless they say otherwise. hatch needs no lock and installs by pip
or by uv; each reads its own variable, so both get the directory. A stack that is in place satisfies it.

A build backend alone (hatchling) makes nobody's environment: what counts are environments in the manifest.
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
    """The tool."""

    name = "hatch"
    manifests = ("hatch.toml", "pyproject.toml")
    sync = "hatch env create"

    def rank_signs(self, there: frozenset[str], tables: Mapping[str, Any]) -> int:
        """Return 1 for its own manifest, or environments in [tool.hatch]: a sign of any other tool outweighs both."""
        hatch = tables.get(self.name)
        return int(self.manifests[0] in there or (isinstance(hatch, dict) and "envs" in hatch))

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return a dependency, and the directory for pip and for uv."""
        content, place = toml_data(text), pinned.directory
        if "envs" not in content and "tool" not in content:
            raise RefusedError(
                "hatch.toml has no [envs], and adding it would hide the one in pyproject.toml",
                hint="move the environments of pyproject.toml to hatch.toml",
            )
        default = "envs.default" if "envs" in content else "tool.hatch.envs.default"
        # hatch's own way to say where the project is
        url = quote_toml(file_url(place) if place.is_absolute() else f"{{root:uri}}/{place}")
        requirement = format_array((f'"{pinned.name}=={pinned.version} ; {pinned.here}"',))
        return (
            f"[{default}]\nextra-dependencies = {requirement}\n"
            f"[{default}.env-vars]\nPIP_FIND_LINKS = {url}  {BY}\nUV_FIND_LINKS = {url}  {BY}\n"
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Say that nobody has tried it."""
        return (
            f"the pin was not tried with hatch: check the output of `hatch env create` in {directory}; "
            "an environment that hatch locks ignores it"
        )


TOOL = Hatch()
