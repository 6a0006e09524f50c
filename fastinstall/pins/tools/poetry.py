"""How a project of poetry is pinned: a dependency group that takes Pillow from the wheel. Pure.

A group, because it leaves alone what the project itself requires and publishes; poetry resolves all groups together, so
that the lock holds our wheel for the others too, and `poetry install --only main` installs it. Elsewhere than where the
wheel runs, the group asks for nothing but a version that is not ours.
"""

from fastinstall.pins.manifests import format_array, quote_toml
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool


class Poetry(PinTool[PinnedBuild]):
    """The tool."""

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
        """Return a group that requires our wheel where it runs, and not our version elsewhere."""
        path = quote_toml(str(pinned.directory / pinned.wheel))
        elsewhere = (f'{{ version = "!={pinned.version}", markers = "{marker}" }}' for marker in pinned.elsewhere)
        sources = format_array((f'{{ path = {path}, markers = "{pinned.here}" }}', *elsewhere))
        return f"[tool.poetry.group.fastinstall.dependencies]\n{pinned.name} = {sources}"


TOOL = Poetry()
