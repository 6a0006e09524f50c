"""Install the start-up guard: its files come in with the renames of the swap."""

from pathlib import Path

from fastinstall.core.values import immutable, tagged
from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import render_state, stage_guard
from fastinstall.steps.kind import StepKind


@tagged("install-guard")
@immutable
class InstallGuard(StepKind):
    """Install the start-up guard."""

    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return "add a start-up hook that warns when another tool replaces it"

    def stage(self, site_packages: Path, core: BuiltCore, stack_version: str, python: Path) -> None:
        """Put the guard's files beside the staged stack.

        Args:
            site_packages: the staged directory that the guard's files go into.
            core: the imaging core that it shall find.
            stack_version: what `PIL/_version.py` says there.
            python: the target's, which compiles it.
        """
        stage_guard(site_packages, render_state(site_packages, core, stack_version), python)
