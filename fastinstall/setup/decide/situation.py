"""Everything that the planner decides by, as one value."""

from dataclasses import field

from fastinstall.core.values import immutable
from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.facts import Facts, Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.setup.steps.create_environment import CreateEnvironment


@immutable
class Situation:
    """Everything that a plan is made from.

    Attributes:
        facts: the target, with its toolchain if something may need building.
        recipe: the recipe that is built.
        request: what flags, variables and settings ask for.
        releases: what the index or the wheelhouse offers.
        receipt: of an earlier setup.
        create: the environment to create first; `facts` then describe it as it will be.
        restoring: the plan restores the build of the receipt, whose version needs no new consent.
        microarchitectures: for each x86-64 level the names of its CPUs, as in conda's `__archspec`.
        preview: what the engine's solver would change, or None if it was not asked yet.
        links: pip's find-links, for a pin to repeat.
        project: whose manifest and lock file make the environment, or None if there is none.
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
