"""How a project of pdm is pinned: an override, and a source of the kind `find_links`. Pure.

pdm locks one version of each distribution for all platforms and Pythons of the project, and knows neither constraints
nor overrides with markers: a project pinned so can be installed where our wheel runs, and nowhere else. An override
also hides who asks for another Pillow, so that is looked for here.
"""

import re
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import BY, MARK, quote_toml
from fastinstall.pins.markers import PinnedBuild
from fastinstall.pins.tool import Locking, PinTool


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

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return an override, and the directory as a source."""
        place = pinned.directory
        # pdm's own way to say where the project is
        url = place.as_uri() if place.is_absolute() else f"file:///${{PROJECT_ROOT}}/{place}"
        return (
            f'[tool.pdm.resolution.overrides]\n{pinned.name} = "=={pinned.version}"  {MARK}\n\n'
            f'[[tool.pdm.source]]  {BY}\nname = "fastinstall"\ntype = "find_links"\nurl = {quote_toml(url)}\n'
        )

    def prepare_lock(self, manifest: str, lock: str, pinned: PinnedBuild) -> str:
        """Return the lock without the distribution: pdm keeps to what its lock has, even against the manifest."""
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
    """Refuse a project where it, or something in its lock, asks for a version that the build is not."""
    project = toml_data(manifest).get("project", {})
    requiring = [("the project", each) for each in project.get("dependencies", ())]
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
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (only where a pin is made)
    from packaging.utils import canonicalize_name  # noqa: PLC0415 (likewise)

    try:
        said = Requirement(requirement)
    except InvalidRequirement:
        return False  # pdm has read it: what it means is up to pdm
    named = canonicalize_name(said.name) == build.name
    return named and not said.specifier.contains(build.version, prereleases=True)
