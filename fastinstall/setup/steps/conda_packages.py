"""Change a conda environment: link the packages made from the wheel, and change other packages exactly as planned."""

from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from fastinstall.conda.live_change import change_conda_packages
from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage, CondaStack
from fastinstall.model.facts import Facts
from fastinstall.setup.steps import SetupStep
from fastinstall.wheelbuild.build_inputs import BuildResult

if TYPE_CHECKING:
    from fastinstall.conda.stage import LinkedPackages

_KEEPING = "have conda keep this build: security updates then come by `fastinstall setup --upgrade`"


@immutable
class ChangeCondaPackages(SetupStep):
    """Have the engine change other packages of the environment, exactly as planned, without asking a solver again.

    Attributes:
        engine: the installer of conda packages that makes the change.
        change: the packages to link and to unlink.
        reason: why the plan has this step, for the user.
    """

    engine: CondaInstaller
    change: CondaChange
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"change other packages by {_name_engine(self.engine)}"

    def outline(self) -> Iterable[str]:
        """Return the line of `describe`, and a line for each package."""
        return (self.describe(), *self.list_details())

    def list_details(self) -> Iterable[str]:
        """Yield a line for each package that is added, removed or replaced."""
        before = {package.name: f"{package.version} {package.build}" for package in self.change.unlinked}
        after = {package.name: f"{package.version} {package.build}" for package in self.change.linked}
        for name in sorted({*before, *after}):
            if name in before and name in after:
                yield f"{name}: {before[name]} -> {after[name]}"
            else:
                yield f"{name}: {f'+ {after[name]}' if name in after else f'- {before[name]}'}"

    def list_conda_packages(self) -> tuple[CondaPackage, ...]:
        """List the packages that are added."""
        return self.change.linked

    def change_packages(self, prefix: Path, transaction: Transaction, run: Run) -> None:
        """Change the packages of the live environment.

        Raises:
            FailedError: the plan has no engine, or the engine failed or deviated from the plan. The caller then undoes
                the changes.
        """
        if run.engine is None:
            raise FailedError("the plan names no engine for conda packages", hint="make a new plan: fastinstall plan")
        change_conda_packages(self.change, run.engine, transaction, prefix, run.emit)


@immutable
class MakeCondaPackages(SetupStep):
    """Make conda packages from the wheel in a channel inside the environment, and link them into the stage.

    Attributes:
        engine: the installer that links the packages.
        package: the package that will provide PIL; its build number may be increased when it is made.
        guard: the package that keeps solvers from replacing `package`; None without a guard.
        channel: the directory of the channel.
        reason: why the plan has this step, for the user.
    """

    engine: CondaInstaller
    package: CondaPackage
    guard: CondaPackage | None
    channel: PurePath
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"make the conda package {self.package.dist} of it, linked by {_name_engine(self.engine)}"

    def outline(self) -> Iterable[str]:
        """Return the line of `describe`, then the effect of the guard package or, without a guard, the reason."""
        if self.guard is None:
            return (f"{self.describe()} ({self.reason})",)
        return (self.describe(), _KEEPING)

    def list_details(self) -> Iterable[str]:
        """Yield a line on the guard package and its effect."""
        if self.guard is not None:
            yield f"{_KEEPING} ({self.guard.dist})"

    def link(self, built: BuildResult, before: Facts, transaction: Transaction, run: Run) -> "LinkedPackages":
        """Pack the wheel, put the channel in place, and link its packages into the transaction's stage.

        Raises:
            FailedError: the engine could not link the packages; the caller undoes the changes.
        """
        from fastinstall.conda.stage import link_packages  # needed only in conda environments

        planned = CondaStack(package=self.package, guard=self.guard, channel=self.channel)
        return link_packages(planned, built, before, transaction, run)


def _name_engine(engine: CondaInstaller) -> str:
    return "py-rattler" if engine is CondaInstaller.RATTLER else engine
