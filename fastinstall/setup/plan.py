"""A plan: the parts of a setup, with reasons, as data that can be saved, read and refused.

It bears a digest of the facts that it depends on: a plan made from other facts is refused, and so is one that differs
from what would be planned now.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from fastinstall.core.codec import digest, encode
from fastinstall.core.values import immutable
from fastinstall.model.facts import Environment, Facts, InstalledStack, Interpreter
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import LinkMode, PlanRisk, Request
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages, MakeCondaPackages
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.pin import Pin, PinForPip
from fastinstall.setup.steps.prepare import CondaToolchain, PrivateHeaders, SystemPackages
from fastinstall.setup.steps.prove import Prove
from fastinstall.setup.steps.step import SetupStep
from fastinstall.setup.steps.swap import InstallGuard, Swap
from fastinstall.setup.steps.verify import Verify


@immutable
class Skipped:
    """A step that is not needed, and why."""

    step: str
    reason: str


@immutable
class Plan:
    """What will be done to an environment; of a step that is not needed, `skipped` says why.

    Attributes:
        environment: the environment that is changed, or made.
        facts_digest: of the facts that it was made from; `apply` refuses it if they changed.
        request: the request that it answers.
        create: makes the environment.
        prepare: brings what the build needs: compiler and headers.
        build: makes the wheel, or takes it from the cache.
        prove: uses the staged stack beside the target, compares and times it.
        change: changes other conda packages, in this order; before the build where that links them (`--link env`).
        package: makes the wheel a conda package.
        swap: puts the stack in place.
        guard: installs the start-up guard; without a build, renews it.
        pin: has other installers keep the stack.
        verify: runs doctor's checks on the result; None if there is nothing to do.
        skipped: what was not needed, and why.
        risks: what needs to be allowed by name, allowed or not.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: what the plan does, in one sentence.
        verb: the command, for the list of setups that can be undone.
    """

    environment: Environment
    facts_digest: str
    request: Request
    create: CreateEnvironment | None = None
    prepare: tuple[SystemPackages | PrivateHeaders | CondaToolchain, ...] = ()
    build: Build | None = None
    prove: Prove | None = None
    change: tuple[ChangeCondaPackages, ...] = ()
    package: MakeCondaPackages | None = None
    swap: Swap | None = None
    guard: InstallGuard | None = None
    pin: Pin | PinForPip | None = None
    verify: Verify | None = None
    skipped: tuple[Skipped, ...] = ()
    risks: tuple[PlanRisk, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str
    verb: str = "setup"

    @property
    def builds_upon_changes(self) -> bool:
        """Whether other conda packages are changed before the build, which links them."""
        return bool(self.change) and self.build is not None and self.build.link is LinkMode.ENV

    @property
    def steps(self) -> tuple[SetupStep, ...]:
        """All steps, in the order in which they are carried out; empty if there is nothing to do."""
        first, then = (self.change, ()) if self.builds_upon_changes else ((), self.change)
        one_each = (self.package, self.swap, self.guard, self.pin, self.verify)
        parts = (self.create, *first, *self.prepare, self.build, self.prove, *then, *one_each)
        return tuple(step for step in parts if step is not None)

    def was_made_from(self, facts: Facts) -> bool:
        """Tell whether the facts that a decision depends on are those that it was made from."""
        return compute_facts_digest(facts) == self.facts_digest


@immutable
class WheelPlan:
    """How a wheel alone is made.

    Attributes:
        request: what is built.
        interpreter: the Python that the wheel is for.
        prepare: brings what the build needs: compiler and headers.
        build: makes the wheel, or takes it from the cache.
        risks: of installing it anywhere, allowed or not.
        warnings: what the user should know (advisories, weaknesses).
    """

    request: Request
    interpreter: Interpreter
    prepare: tuple[SystemPackages | PrivateHeaders | CondaToolchain, ...]
    build: Build
    risks: tuple[PlanRisk, ...]
    warnings: tuple[str, ...]


PlanConsent = Callable[[Plan], Plan]
"""Asks for consent to a plan, and gives the plan with what was accepted; raises where it is declined."""


@immutable
class SetupOutcome:
    """What came of a plan.

    Attributes:
        plan: the one that was carried out.
        receipt: of the setup that holds.
        after: the target as verified, or None if less was verified than doctor checks.
    """

    plan: Plan
    receipt: Receipt
    after: Facts | None = None


def compute_facts_digest(facts: Facts) -> str:
    """Return a SHA-256 over the facts that a decision depends on.

    Left out: times of files and their inodes, which a copy of the environment has anew; installers, the shell's active
    environments, what comes before site-packages, the CPU's name, cores and quota, the guards, fastinstall's own
    location, and what is observed only on request (the runtime and the toolchain).
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
            "obstacles": facts.obstacles,
            "frozen": facts.frozen,
            "interrupted": facts.interrupted,
            "cpu": (cpu.architecture, cpu.level, tuple(sorted(cpu.flags))),
            "interpreter": replace(facts.interpreter, pip_version=None, shadows=()),
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
    return replace(stack, core=core, owners=tuple(owners), hidden=(), of_others=())


_UNJUDGED = frozenset(
    {"reason", "jobs", "url", "mirrors", "index", "size", "facts_digest", "allow", "allowed", "python"}
)
"""Keys that may differ: texts, the machine's limits, the location of a file with the same hash, and what is checked
elsewhere (the digest of the facts, accepted risks, the interpreter's name)."""

_BRIEF = 200


def find_differences(saved: Plan, anew: Plan) -> Iterator[tuple[str, str]]:
    """Yield where a saved plan differs from what is decided now, as dotted key and both values.

    Extra warnings do not count: they may concern a later release, which is no longer considered.
    """
    missing = [warning for warning in anew.warnings if warning not in saved.warnings]
    yield from (("warnings", f"missing: {warning}") for warning in missing)
    one, other = (encode(replace(each, warnings=())) for each in (saved, anew))
    yield from _compare_values(one, other, "")


def _compare_values(saved: object, anew: object, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(saved, dict) and isinstance(anew, dict):
        for name in {**anew, **saved}:
            if name not in _UNJUDGED:
                yield from _compare_values(saved.get(name), anew.get(name), f"{key}.{name}" if key else name)
    elif isinstance(saved, list) and isinstance(anew, list) and len(saved) == len(anew):
        for index, (one, other) in enumerate(zip(saved, anew, strict=True)):
            yield from _compare_values(one, other, f"{key}[{index}]")
    elif saved != anew:
        yield key, f"expected {_abbreviate_value(anew)}, found {_abbreviate_value(saved)}"


def _abbreviate_value(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "none"
    text = str(value.get("kind") or value.get("risk") or value) if isinstance(value, dict) else repr(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."
