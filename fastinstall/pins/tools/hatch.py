"""How a project of hatch is pinned: a dependency of its default environment, and a directory to find it in. Pure.

The other environments of the project inherit both, unless they say otherwise. hatch needs no lock and installs by pip
or by uv; each reads its own variable, so both get the directory. A stack that is in place satisfies it.

A build backend alone (hatchling) makes nobody's environment: what counts are environments in the manifest.
An environment that is locked (`locked`, or `lock-envs` for all) is refused, as a pin does not make its lock.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import Addition, ArrayAddition, KeyAddition, read_table, read_texts
from fastinstall.pins.markers import PinnedBuild, parse_requirement_name
from fastinstall.pins.tool import Manifest, PinTool, ProjectSign

_OWN, _SHARED = "hatch.toml", "pyproject.toml"
_ENVIRONMENT = ("envs", "default")
_LISTS = ("dependencies", "extra-dependencies")
_VARIABLES = ("PIP_FIND_LINKS", "UV_FIND_LINKS")


class Hatch(PinTool[PinnedBuild]):
    """The tool."""

    name = "hatch"
    manifests = (_OWN, _SHARED)
    beside = (_SHARED,)
    sync = "hatch env create"

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Its manifest, or environments in [tool.hatch]; those of the others outweigh both."""
        hatch = tables.get(self.name)
        environments = isinstance(hatch, dict) and "envs" in hatch
        return ProjectSign.SETTINGS if _OWN in files or environments else ProjectSign.NONE

    def list_additions(self, text: str, pinned: PinnedBuild) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        table = (*_find_root(toml_data(text)), *_ENVIRONMENT)
        place = pinned.directory
        # hatch's own way to say where the project is
        directory = f'"{place.as_uri()}"' if place.is_absolute() else f'"{{root:uri}}/{place}"'
        return (
            ArrayAddition(table=table, key="extra-dependencies", items=(f"{pinned.requirement} ; {pinned.here}",)),
            *(KeyAddition(table=(*table, "env-vars"), key=name, literal=directory) for name in _VARIABLES),
        )

    def list_foreign(self, manifest: Manifest, pinned: PinnedBuild) -> Iterator[str]:
        """What the default environment says of the distribution, and what would hide our part of it."""
        content = toml_data(manifest.text)
        if manifest.path.name == _OWN and "envs" not in content:
            yield "[envs] is missing, and adding it would hide the one in pyproject.toml"
        root = _find_root(content)
        default = read_table(content, (*root, *_ENVIRONMENT))
        header = ".".join((*root, *_ENVIRONMENT))
        for key in _LISTS:
            for requirement in read_texts(default, (key,)):
                if parse_requirement_name(requirement) == pinned.name:
                    yield f"[{header}] {key} has {requirement!r}"
        if default.get("locked", read_table(content, root).get("lock-envs")):
            yield f"[{header}] is locked, and hatch installs from its lock file"
        for variable in _VARIABLES:
            if variable in read_table(default, ("env-vars",)):
                yield f"[{header}.env-vars] has {variable}"
        for requirement in read_texts(toml_data(manifest.beside.get(_SHARED, "")), ("project", "dependencies")):
            if parse_requirement_name(requirement) == pinned.name and "@" in requirement:
                yield f"[project] requires {requirement!r}"

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Say that nobody has tried it."""
        return f"the pin was not tried with hatch: check the output of `hatch env create` in {directory}"


TOOL = Hatch()


def _find_root(content: dict[str, Any]) -> tuple[str, ...]:
    """Where the tables of hatch are: at the top of hatch.toml."""
    return () if "envs" in content else ("tool", "hatch")
