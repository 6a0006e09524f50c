"""What the actions work with: tools, places and listeners, gathered in one value."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from fastinstall.installers.conda.engine import CondaEngine
from fastinstall.installers.index import PackageIndex
from fastinstall.model.cpu import Cpu
from fastinstall.model.event import Emit
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Recipe


@immutable
class Workshop:
    """The means of a setup.

    Attributes:
        recipe: what is built.
        index: where files come from.
        cache: root of our cache.
        variables: environment variables for subprocesses.
        emit: listens to events.
        now: when this run began, UTC.
        cpu: of this machine.
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
