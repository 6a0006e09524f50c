"""The inputs of the planner, as one value."""

from dataclasses import field

from fastinstall.core.values import immutable
from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.facts import Facts
from fastinstall.model.guards import Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.setup.steps.create_environment import CreateEnvironment


@immutable
class Situation:
    """The inputs of a plan.

    Attributes:
        facts: facts of the target, including the toolchain if a wheel may have to be built.
        recipe: the recipe to build.
        request: the user's request, from flags, variables and settings.
        releases: files that the index or the wheelhouse offers.
        receipt: the receipt of an earlier setup; None if there is none.
        create: the step that creates the environment; `facts` then describe the environment as it will be. None if the
            environment exists.
        restoring: whether the plan restores the build of the receipt, whose version needs no new consent.
        microarchitectures: the CPU names of conda's `__archspec` that belong to each x86-64 level.
        preview: changes that conda's solver would make; None if the solver was not asked.
        links: pip's `find-links`, which a pin must repeat.
        project: the project that manages the environment by its manifest and lock file; None if there is none.
    """

    facts: Facts
    recipe: Recipe
    request: Request
    releases: Releases
    receipt: Receipt | None = None
    create: CreateEnvironment | None = None
    restoring: bool = False
    microarchitectures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    preview: CondaChange | None = None
    links: tuple[str, ...] = ()
    project: Project | None = None
