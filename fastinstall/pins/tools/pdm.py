"""Pin a pdm project: add a dependency group, and a source of type `find_links`. Pure.

pdm locks one version of each distribution for all platforms and Pythons. A pinned project can therefore only be
installed where the wheel runs. The pin is a group, not an override: pdm resolves all groups together, and reports which
distribution requires another Pillow.
"""

from pathlib import PurePath

from fastinstall.core.file_url import file_url
from fastinstall.pins.manifests import BY, format_array, quote_toml
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool


class Pdm(PinTool[PinnedBuild]):
    """pdm."""

    name = "pdm"
    lock = "pdm.lock"
    sync = "pdm sync"
    locking = Locking(
        lock=("lock", "--update-reuse", "--group", ":all"),  # without --group, only the groups in the present lock
        why="pdm list --tree --reverse pillow",
        variables={"PDM_CHECK_UPDATE": "false", "PDM_IGNORE_SAVED_PYTHON": "1"},
        drops=("PDM_PROJECT", "PDM_LOCKFILE", "PDM_RESOLUTION_OVERRIDES"),
    )

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return a group that requires the build, and a source for the wheel's directory."""
        place = pinned.directory
        # `${PROJECT_ROOT}`: pdm's placeholder for the project's directory
        url = file_url(place) if place.is_absolute() else f"file:///${{PROJECT_ROOT}}/{place}"
        requirement = format_array((f'"{pinned.name}=={pinned.version}"',))
        return (
            f"[dependency-groups]\nfastinstall = {requirement}\n"
            f'[[tool.pdm.source]]  {BY}\nname = "fastinstall"\ntype = "find_links"\nurl = {quote_toml(url)}\n'
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Return a warning that the project can no longer be installed on other platforms and Pythons."""
        where = f"Linux on {pinned.machine} with Python {pinned.python}"
        return f"pdm locks one Pillow for all platforms: {directory} now installs on {where} only"


TOOL = Pdm()
