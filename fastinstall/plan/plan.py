"""A plan: the steps of a setup, in order and with reasons, as data that can be saved, read and refused.

Also the situation that a plan is made from, and a digest of the facts that it depends on. A plan made from other facts
is refused.
"""

from dataclasses import field, replace

from fastinstall.core.codec import digest
from fastinstall.core.values import immutable, keyed
from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, InstalledStack
from fastinstall.model.pin_state import Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import PlanRisk, Request
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
        facts_digest: of the facts that it was made from; `apply` refuses it if they changed.
        request: the request that it answers.
        steps: in order; empty if there is nothing to do.
        skipped: what was not needed, and why.
        risks: named risks.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: one sentence.
        verb: the command, for the list of setups that can be undone.
    """

    environment: Environment
    facts_digest: str
    request: Request = keyed("wish")
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()
    risks: tuple[PlanRisk, ...] = keyed("hazards", default=())
    warnings: tuple[str, ...] = ()
    summary: str
    verb: str = "setup"


@immutable
class Situation:
    """Everything that a plan is made from.

    Attributes:
        facts: the target, with its toolchain if something may need building.
        recipe: what to build.
        request: the request.
        releases: what the index or the wheelhouse offers.
        receipt: of an earlier setup.
        create: the environment to create first; `facts` then describe it as it will be.
        restoring: the plan restores the build of the receipt, whose version needs no new consent.
        microarchitectures: for each x86-64 level the names of its CPUs, as in conda's `__archspec`.
        preview: what the engine's solver would change, or None if it was not asked yet.
        cached: the hash of a cached wheel equal to what would be built; "" during the search, which assumes one; None
            if there is none.
        links: pip's find-links, for a pin to repeat.
        project: whose manifest and lock file make the environment, or None if there is none.
        foreign_checks: checks of other distributions that also verify the setup.
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
    cached: str | None = None
    links: tuple[str, ...] = ()
    project: Project | None = None
    foreign_checks: tuple[str, ...] = ()


def compute_facts_digest(facts: Facts) -> str:
    """Return a SHA-256 over the facts that a decision depends on.

    Left out: times of files and their inodes, which a copy of the environment has anew; installers, the shell's active
    environments, the CPU's name, cores and quota, the guards, fastinstall's own location, and what is observed only on
    request (the runtime and the toolchain).
    """
    conda, cpu = facts.conda, facts.cpu
    known = None
    if conda is not None:  # which conda it is matters only while it works
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
    core = stack.core
    if core is not None:
        core = replace(core, mtime_ns=0, libraries=tuple(replace(each, inode=0) for each in core.libraries))
    owners = (
        replace(owner, installed_at="", distribution=replace(owner.distribution, installer="", requested=False))
        for owner in stack.owners
    )
    return replace(stack, core=core, owners=tuple(owners))
