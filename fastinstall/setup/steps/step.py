"""Base classes of steps: of all, and of those whose reason is always told."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaPackage


class SetupStep(ABC):
    """Base class of steps. Defaults: no details, no downloads."""

    __slots__ = ()
    reason: str
    """Why it is in the plan, as a part of a sentence."""

    @abstractmethod
    def describe(self) -> str:
        """Return what is done, in a line of a plan; "it" is what the plan sets up."""

    def outline(self) -> Iterable[str]:
        """Return its lines in a short text of a plan."""
        return (self.describe(),)

    def list_details(self) -> Iterable[str]:
        """Return further lines of a plan, below its words."""
        return ()

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """List the files that it fetches from an index, or from a directory in its place."""
        return ()

    def list_conda_packages(self) -> tuple[CondaPackage, ...]:
        """List the packages that it fetches from conda's channels."""
        return ()


class ExplainedStep(SetupStep):
    """A step that costs something, so that a short text gives its reason too."""

    __slots__ = ()

    def outline(self) -> Iterable[str]:
        """Return its line and its reason."""
        return (f"{self.describe()} ({self.reason})",)
