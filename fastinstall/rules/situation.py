"""What a plan is made from, as one value. Pure."""

from dataclasses import field

from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.pins import Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.steps import CreateEnvironment
from fastinstall.model.wish import Wish


@immutable
class Situation:
    """Everything that a plan is made from.

    Attributes:
        facts: the target, with its toolchain where something may have to be built.
        recipe: what to build.
        wish: what was asked for.
        releases: what the index or the wheelhouse offers.
        receipt: of an earlier setup.
        create: the environment to make first; then `facts` speak of it as it will be.
        restoring: the plan puts back what the receipt says, so its version is consented to already.
        microarchitectures: of each x86-64 level the names of the CPUs that have it, as conda's `__archspec` has them.
        preview: what the engine's solver would change, or None if it was not asked yet.
        cached: the hash of a wheel in our cache that is what would be built; "" while it is being looked for, as though
            there were one, and None where there is none.
        links: places of wheels that pip is told of, for a pin to repeat.
        project: whose manifest and lock make the environment, or None if there is none.
        foreign_checks: of other distributions, by which the setup is verified beside ours.
    """

    facts: Facts
    recipe: Recipe
    wish: Wish
    releases: Releases
    receipt: Receipt | None = None
    create: CreateEnvironment | None = None
    restoring: bool = False
    microarchitectures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    preview: CondaChange | None = None
    cached: str | None = None
    links: tuple[str, ...] = ()
    project: Project | None = None
    foreign_checks: tuple[str, ...] = ()
