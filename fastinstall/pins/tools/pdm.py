"""How a project of pdm is pinned: an override, and a source of the kind `find_links`. Pure.

pdm locks one version of each distribution for all platforms and Pythons of the project, and knows neither constraints
nor overrides with markers: a project pinned so can be installed where our wheel runs, and nowhere else. An override
also hides who asks for another Pillow, so that is looked for here.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import Addition, KeyAddition, TableAddition, read_array, read_table, read_texts
from fastinstall.pins.markers import PinnedBuild, parse_requirement_name
from fastinstall.pins.tool import Locking, Manifest, PinTool

_OVERRIDES = ("tool", "pdm", "resolution", "overrides")
_SOURCES = ("tool", "pdm", "source")
_NAME = "fastinstall"


class Pdm(PinTool[PinnedBuild]):
    """The tool."""

    name = "pdm"
    lock = "pdm.lock"
    sync = "pdm sync"
    locking = Locking(
        check=("lock", "--check"),
        lock=("lock", "--update-reuse"),
        why="pdm list --tree --reverse pillow",
        variables={"PDM_CHECK_UPDATE": "false", "PDM_IGNORE_SAVED_PYTHON": "1"},
        drops=("PDM_PROJECT", "PDM_LOCKFILE", "PDM_RESOLUTION_OVERRIDES"),
    )

    def list_additions(self, text: str, pinned: PinnedBuild) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        place = pinned.directory
        # pdm's own way to say where the project is
        url = place.as_uri() if place.is_absolute() else f"file:///${{PROJECT_ROOT}}/{place}"
        return (
            KeyAddition(table=_OVERRIDES, key=pinned.name, literal=f'"=={pinned.version}"'),
            TableAddition(table=_SOURCES, literals={"name": f'"{_NAME}"', "type": '"find_links"', "url": f'"{url}"'}),
        )

    def list_foreign(self, manifest: Manifest, pinned: PinnedBuild) -> Iterator[str]:
        """Overrides and excludes of the distribution in pyproject.toml, and a source of our name."""
        content = toml_data(manifest.text)
        for key, value in read_table(content, _OVERRIDES).items():
            if parse_requirement_name(key) == pinned.name:
                yield f"[tool.pdm.resolution.overrides] has {key} = {value!r}"
        for key in read_texts(content, ("tool", "pdm", "resolution", "excludes")):
            if parse_requirement_name(key) == pinned.name:
                yield f"[tool.pdm.resolution] excludes {key!r}"
        for source in read_array(content, _SOURCES):
            if isinstance(source, dict) and source.get("name") == _NAME:
                yield f"[[tool.pdm.source]] already has one named {_NAME!r}"

    def prepare_lock(self, manifest: str, lock: str, pinned: PinnedBuild) -> str:
        """Without the distribution: pdm keeps to what its lock has, even against the manifest."""
        _refuse_forbidden(manifest, lock, pinned)
        first, *packages = re.split(r"(?m)^(?=\[\[package\]\]$)", lock)
        named = re.compile(rf'^name = "{re.escape(pinned.name)}"$', re.MULTILINE)
        return first + "".join(package for package in packages if not named.search(package))

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Say that the project installs nowhere else any more."""
        where = f"Linux on {pinned.machine} with Python {pinned.python}"
        return f"pdm locks one Pillow for all platforms: {directory} now installs on {where} only"


TOOL = Pdm()


def _refuse_forbidden(manifest: str, lock: str, build: PinnedBuild) -> None:
    """Raise if the project, or something in its lock, asks for a version that the build is not.

    Args:
        manifest: pyproject.toml.
        lock: pdm.lock without the pin.
        build: ours.

    Raises:
        RefusedError: says who asks for what.
    """
    requiring = [("the project", each) for each in read_texts(toml_data(manifest), ("project", "dependencies"))]
    for package in toml_data(lock).get("package", ()):
        requiring += [(package["name"], each) for each in package.get("dependencies", ())]
    against = [f"{who} requires {what!r}" for who, what in requiring if _is_excluding(what, build)]
    if against:
        raise RefusedError(
            f"{against[0]}, which {build.version} does not meet",
            hint="install a version that fits: fastinstall setup --version VERSION; or remove that bound",
            details=tuple(against[1:]),
        )


def _is_excluding(requirement: str, build: PinnedBuild) -> bool:
    if parse_requirement_name(requirement) != build.name:
        return False
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (only where a pin is made)

    try:
        return not Requirement(requirement).specifier.contains(build.version, prereleases=True)
    except InvalidRequirement:
        return False  # pdm has read it: what it means is up to pdm
