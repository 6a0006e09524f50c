"""Install packages of the operating system; by root alone, and only where that was asked for."""

from fastinstall.core.events import Started
from fastinstall.core.values import immutable, tagged
from fastinstall.index.run import Run
from fastinstall.setup.steps.step import FetchedInputs, PreparingStep


@tagged("system-packages")
@immutable
class SystemPackages(PreparingStep):
    """Install packages of the operating system.

    Attributes:
        manager: the system's package manager, "apt" or "dnf".
        packages: names of the packages, as the manager knows them.
        reason: why the plan has this step, for a person.
    """

    manager: str
    packages: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return f"install system packages by {self.manager}: {' '.join(self.packages)}"

    def fetch(self, run: Run) -> FetchedInputs:
        """Install them.

        Raises:
            RefusedError: not root, or a manager that we do not know.
            FailedError: the manager failed.
        """
        from fastinstall.wheelbuild.system_packages import install_packages  # noqa: PLC0415 (only where it is carried out)

        run.emit(Started(stage="packages", message=f"installing {' '.join(self.packages)}"))
        install_packages(self.manager, self.packages, run.variables, run.emit)
        return FetchedInputs()
