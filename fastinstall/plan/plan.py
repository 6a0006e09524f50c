"""A plan: the steps of a setup, in order and with reasons, as data that can be saved, read and refused.

It bears a digest of the facts that it depends on: a plan made from other facts is refused.
"""

from dataclasses import replace

from fastinstall.core.codec import digest
from fastinstall.core.values import immutable, keyed
from fastinstall.model.facts import Environment, Facts, InstalledStack
from fastinstall.model.request import PlanRisk, Request
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
        environment: the environment that is changed, or that the first step makes.
        facts_digest: of the facts that it was made from; `apply` refuses it if they changed.
        request: the request that it answers.
        steps: in order; empty if there is nothing to do.
        skipped: what was not needed, and why.
        risks: what needs to be allowed by name, allowed or not.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: what the plan does, in one sentence.
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

    def was_made_from(self, facts: Facts) -> bool:
        """Tell whether the facts that a decision depends on are those that it was made from."""
        return compute_facts_digest(facts) == self.facts_digest


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
