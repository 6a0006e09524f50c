"""Base classes of steps: all, those that prepare a build, and those that record the stack."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaPackage
from fastinstall.model.facts import Facts


@immutable
class FetchedInputs:
    """What was fetched for a build.

    Attributes:
        includes: include directories to look in first.
        headers: packages whose headers lie there.
        variables: environment variables that name the compiler, where it is not the system's.
    """

    includes: tuple[Path, ...] = ()
    headers: tuple[Artefact, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


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


class PreparingStep(ExplainedStep):
    """Fetches what a build needs, and leaves the target as it is."""

    __slots__ = ()

    @abstractmethod
    def fetch(self, run: Run) -> FetchedInputs:
        """Fetch it.

        Raises:
            FastinstallError: it cannot be had; nothing of the target is touched.
        """


class RecordingStep(ExplainedStep):
    """Writes down in the environment, behind the swap, that the stack shall stay."""

    __slots__ = ()

    @abstractmethod
    def refuse_harm(self, wheel: Path, before: Facts, run: Run, /) -> None:
        """Raise if what it writes would do harm, or cannot be written; nothing is changed.

        Args:
            wheel: that was built for the plan.
            before: facts of the environment.
            run: cache, index and listeners that the step works with.

        Raises:
            RefusedError: as its kind says.
        """

    @abstractmethod
    def write(self, wheel: Path, prefix: Path, transaction: Transaction, /) -> None:
        """Write it.

        Args:
            wheel: the wheel that the setup has put in place.
            prefix: root of the environment that is changed.
            transaction: records each change before it is made, to undo it.

        Raises:
            OSError: as the kernel says; the caller undoes.
        """
