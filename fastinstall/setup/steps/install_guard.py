"""Install the start-up guard: its files come in with the renames of the swap."""

from fastinstall.core.values import immutable
from fastinstall.setup.steps.step import SetupStep


@immutable
class InstallGuard(SetupStep):
    """Install the start-up guard."""

    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return "add a start-up hook that warns when another tool replaces it"
