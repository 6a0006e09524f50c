"""What carrying out a plan works with: tools, places and listeners in one value."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from fastinstall.core.events import Emit
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu
from fastinstall.index.offers import PackageIndex
from fastinstall.model.conda import CondaEngine
from fastinstall.model.recipe import Recipe


@immutable
class ExecutionContext:
    """The means of a setup.

    Attributes:
        recipe: what is to be built.
        index: where files come from.
        cache: root of our cache.
        variables: environment variables for subprocesses.
        now: when this run began, UTC.
        engine: installs conda packages, or None if the plan has none.
    """

    recipe: Recipe
    index: PackageIndex
    cache: Path
    variables: Mapping[str, str]
    emit: Emit
    now: datetime
    cpu: Cpu
    engine: CondaEngine | None = None
