"""Pin a poetry project: add a dependency group that takes Pillow from the wheel. Pure.

A group does not change the requirements that the project publishes. poetry resolves all groups together: the lock has
the wheel for all of them, and even `poetry install --only main` installs it. Where the wheel does not run, the group
only excludes the wheel's version.
"""

from fastinstall.pins.manifests import format_array, quote_toml
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool


class Poetry(PinTool[PinnedBuild]):
    """poetry."""

    name = "poetry"
    lock = "poetry.lock"
    sync = "poetry install"
    locking = Locking(
        lock=("lock", "--no-interaction"),
        why="poetry show --why pillow",
        variables={"POETRY_VIRTUALENVS_CREATE": "false"},
        drops=("POETRY_PROJECT",),
    )

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return a group that requires the wheel where it runs, and excludes its version elsewhere."""
        path = quote_toml(str(pinned.directory / pinned.wheel))
        elsewhere = (f'{{ version = "!={pinned.version}", markers = "{marker}" }}' for marker in pinned.elsewhere)
        sources = format_array((f'{{ path = {path}, markers = "{pinned.here}" }}', *elsewhere))
        return f"[tool.poetry.group.fastinstall.dependencies]\n{pinned.name} = {sources}"


TOOL = Poetry()
