"""Define the steps of a plan: their data, their texts, and the functions that carry them out.

Each module has the steps of one purpose; the base classes are here. Steps change an environment only through a
transaction, which can undo the changes. `plan` defines the order of steps, and `carry_out` runs them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaPackage


class SetupStep(ABC):
    """Base class of steps. Defaults: no details, no downloads."""

    __slots__ = ()
    reason: str
    """Why the plan has this step, as a part of a sentence."""

    @abstractmethod
    def describe(self) -> str:
        """Return what the step does, as a line of a plan, in which "it" stands for the stack that is set up."""

    def outline(self) -> Iterable[str]:
        """Return the lines of this step in a short text of a plan."""
        return (self.describe(),)

    def list_details(self) -> Iterable[str]:
        """Return lines that a long text of a plan shows below the line of `describe`."""
        return ()

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """List the files that the step fetches from an index or a wheelhouse."""
        return ()

    def list_conda_packages(self) -> tuple[CondaPackage, ...]:
        """List the packages that the step fetches from conda's channels."""
        return ()


class ExplainedStep(SetupStep):
    """Base class of steps that change more than the stack, so that even a short text gives their reason."""

    __slots__ = ()

    def outline(self) -> Iterable[str]:
        """Return the line of `describe`, followed by the reason."""
        return (f"{self.describe()} ({self.reason})",)
