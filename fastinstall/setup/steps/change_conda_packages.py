"""Have an engine change other packages of a live conda environment: exactly those that were planned."""

from collections.abc import Iterable
from pathlib import Path

from fastinstall.conda.live_change import change_conda_packages
from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage
from fastinstall.setup.steps.make_conda_packages import ENGINES
from fastinstall.setup.steps.step import SetupStep


@immutable
class ChangeCondaPackages(SetupStep):
    """Have the engine change other packages of the environment: exactly these, whatever a solver would say by then.

    Attributes:
        engine: the installer of conda packages that makes the change.
        change: what comes and what goes.
        reason: why the plan has this step, for a person.
    """

    engine: CondaInstaller
    change: CondaChange
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return f"change other packages by {ENGINES[self.engine]}"

    def outline(self) -> Iterable[str]:
        """Return the line of `describe`, and one for each package."""
        return (self.describe(), *self.list_details())

    def list_details(self) -> Iterable[str]:
        """List what comes, goes and is replaced, package by package."""
        before = {package.name: package for package in self.change.unlinked}
        after = {package.name: package for package in self.change.linked}
        for name in sorted({*before, *after}):
            old, new = before.get(name), after.get(name)
            told = [f"{each.version} {each.build}" if each is not None else "" for each in (old, new)]
            if old is not None and new is not None:
                yield f"{name}: {told[0]} -> {told[1]}"
            else:
                yield f"{name}: {'+ ' + told[1] if new is not None else '- ' + told[0]}"

    def list_conda_packages(self) -> tuple[CondaPackage, ...]:
        """List what comes."""
        return self.change.linked

    def change_packages(self, prefix: Path, transaction: Transaction, run: Run) -> None:
        """Carry it out on the live environment.

        Raises:
            FailedError: there is no engine, it failed, or it did something else than was planned; the caller undoes.
        """
        if run.engine is None:
            raise FailedError("the plan names no engine for conda packages", hint="make a new plan: fastinstall plan")
        change_conda_packages(self.change, run.engine, transaction, prefix, run.emit)
