"""The value that a run passes to its steps: session, recipe, package index, cache, CPU and conda engine."""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.events import Emit
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu
from fastinstall.index.offers import PackageIndex
from fastinstall.model.conda import CondaEngine
from fastinstall.model.recipe import Recipe
from fastinstall.observe.session import Session


@immutable
class Run:
    """A run that builds, fetches and installs.

    Attributes:
        session: variables, directories, clock and events.
        recipe: the recipe that is built.
        index: finds and fetches files.
        cache: root of our cache.
        cpu: the CPU of this machine, or of the machine that the build is for.
        engine: installs conda packages; None if the plan installs none.
    """

    session: Session
    recipe: Recipe
    index: PackageIndex
    cache: Path
    cpu: Cpu
    engine: CondaEngine | None = None

    @property
    def emit(self) -> Emit:
        """The function that receives the events of the run."""
        return self.session.emit

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables for subprocesses."""
        return self.session.variables
