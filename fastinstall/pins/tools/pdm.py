"""How a project of pdm is pinned: a dependency group, and a source of the kind `find_links`. Pure.

pdm locks one version of each distribution for all platforms and Pythons of the project: a project pinned so can be
installed where our wheel runs, and nowhere else. A group, and not an override, because pdm resolves all groups
together: it says itself who asks for another Pillow.
"""

from pathlib import PurePath

from fastinstall.core.file_url import file_url
from fastinstall.pins.manifests import BY, format_array, quote_toml
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool


class Pdm(PinTool[PinnedBuild]):
    """The tool."""

    name = "pdm"
    lock = "pdm.lock"
    sync = "pdm sync"
    locking = Locking(
        lock=("lock", "--update-reuse", "--group", ":all"),  # else the groups that the lock has
        why="pdm list --tree --reverse pillow",
        variables={"PDM_CHECK_UPDATE": "false", "PDM_IGNORE_SAVED_PYTHON": "1"},
        drops=("PDM_PROJECT", "PDM_LOCKFILE", "PDM_RESOLUTION_OVERRIDES"),
    )

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return a group that requires our build, and the directory as a source."""
        place = pinned.directory
        # pdm's own way to say where the project is
        url = file_url(place) if place.is_absolute() else f"file:///${{PROJECT_ROOT}}/{place}"
        requirement = format_array((f'"{pinned.name}=={pinned.version}"',))
        return (
            f"[dependency-groups]\nfastinstall = {requirement}\n"
            f'[[tool.pdm.source]]  {BY}\nname = "fastinstall"\ntype = "find_links"\nurl = {quote_toml(url)}\n'
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Say that the project installs nowhere else any more."""
        where = f"Linux on {pinned.machine} with Python {pinned.python}"
        return f"pdm locks one Pillow for all platforms: {directory} now installs on {where} only"


TOOL = Pdm()
