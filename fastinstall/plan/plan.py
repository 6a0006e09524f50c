"""A plan: what will be done, in which order and why; data that can be saved, read and refused.

What a plan is made from, as one value.

A digest of the facts that a plan depends on, so that a plan made from other facts is refused.
"""

from dataclasses import field, replace

from fastinstall.core.values import digest, immutable
from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.facts import Facts, InstalledStack, Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Environment, PlanRisk, Request
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import Step


@immutable
class Skipped:
    """A step that is not needed, and why."""

    step: str
    reason: str


@immutable
class Plan:
    """What will be done to an environment.

    Attributes:
        environment: the target.
        facts_digest: of the facts that it was made from; `apply` refuses when they have changed.
        wish: what it answers.
        steps: in order; empty: nothing to do.
        skipped: what was not needed, and why.
        hazards: named risks.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: one sentence.
        verb: what was called, for the list of what can be undone.
    """

    environment: Environment
    facts_digest: str
    wish: Request
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()
    hazards: tuple[PlanRisk, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str
    verb: str = "setup"


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
            there were one, and None if there is none.
        links: places of wheels that pip is told of, for a pin to repeat.
        project: whose manifest and lock make the environment, or None if there is none.
        foreign_checks: of other distributions, by which the setup is verified beside ours.
    """

    facts: Facts
    recipe: Recipe
    wish: Request
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


def compute_facts_digest(facts: Facts) -> str:
    """A sha256 over the facts, without what may change and leave every decision as it was.

    Left out: times of files, who installed what, the shell's active environments, the CPU's name, its
    cores and quota, the guards, our own place, and what is observed only when asked for (the runtime
    and the toolchain).
    """
    conda, cpu = facts.conda, facts.cpu
    known = None
    if conda is not None:  # which conda there is matters only while it works
        packages = sorted(package.dist for package in conda.packages)
        known = (packages, conda.pins, conda.claims, sorted(conda.unreadable))
    return digest(
        {
            "environment": facts.environment,
            "writable": facts.writable,
            "frozen": facts.frozen,
            "interrupted": facts.interrupted,
            "cpu": (cpu.architecture, cpu.level, tuple(sorted(cpu.flags))),
            "interpreter": replace(facts.interpreter, pip_version=None),
            "distributions": [(distribution.name, distribution.version) for distribution in facts.distributions],
            "stack": _reduce_stack(facts.stack),
            "conda": known,
        }
    )


def _reduce_stack(stack: InstalledStack) -> InstalledStack:
    core = replace(stack.core, mtime_ns=0) if stack.core is not None else None
    owners = (
        replace(owner, installed_at="", distribution=replace(owner.distribution, installer="", requested=False))
        for owner in stack.owners
    )
    return replace(stack, core=core, owners=tuple(owners))
