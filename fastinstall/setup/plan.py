"""Define plans (the steps of a setup, with reasons), and the inputs from which a plan is made. Pure.

A plan can be saved. A saved plan may come from anybody, so it is checked by planning again from its request and the
files that it names (`select_named_releases`). Both plans must agree (`find_differences`), so a saved plan cannot choose
its own risks, warnings or steps. The person who applies the plan accepts the risks (`allow_risks`). A digest of the
facts shows early whether the environment has changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace

from fastinstall.core.codec import digest, encode
from fastinstall.core.errors import RefusedError
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.facts import Environment, Facts, InstalledStack, Interpreter
from fastinstall.model.guards import Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages, MakeCondaPackages
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.pin import Pin, PinForPip
from fastinstall.setup.steps.prepare import CondaToolchain, PrivateHeaders, SystemPackages
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import InstallGuard, Swap


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
        links: pip's `find-links` of other configuration files, which a pin must repeat because it hides them.
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


@immutable
class Skipped:
    """A step that is not needed: its name, and why it is not needed."""

    step: str
    reason: str


@immutable
class Plan:
    """The steps of a setup of one environment; a step that is not needed is None or empty.

    Attributes:
        environment: the environment that is changed or created.
        facts_digest: digest of the facts that the plan was made from; `apply` refuses the plan if they have changed.
        request: the request that the plan fulfils.
        create: step that creates the environment.
        prepare: steps that get compiler and headers.
        build: step that makes the wheel, or takes it from the cache.
        prove: step that compares the wheel with the official one, and runs and times the staged stack.
        change: steps that change other conda packages, in this order; with `--link env`, they come before the build.
        package: step that turns the wheel into a conda package.
        swap: step that puts the stack in place.
        guard: step that installs the start-up guard; in a plan without a build, it renews the guard.
        pin: step that makes other installers keep the stack.
        verify: step that runs doctor's checks on the result; None if there is nothing to do.
        skipped: steps that are not needed, with reasons.
        risks: risks that the user must allow by name; each is marked as allowed or not.
        warnings: advisories and weaknesses that the user should know before consenting.
        summary: one sentence on the effect of the plan.
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
        """Whether the plan changes conda packages other than Pillow's before the build, which links them."""
        return bool(self.change) and self.build is not None and self.build.link is LinkMode.ENV

    @property
    def steps(self) -> tuple[SetupStep, ...]:
        """All steps, in the order in which they are carried out; empty if there is nothing to do."""
        first, then = (self.change, ()) if self.builds_upon_changes else ((), self.change)
        one_each = (self.package, self.swap, self.guard, self.pin, self.verify)
        parts = (self.create, *first, *self.prepare, self.build, self.prove, *then, *one_each)
        return tuple(step for step in parts if step is not None)


@immutable
class WheelPlan:
    """The steps that make a wheel without installing it.

    Attributes:
        request: the request that the plan fulfils.
        interpreter: the Python that the wheel is for.
        prepare: steps that get compiler and headers.
        build: step that makes the wheel, or takes it from the cache.
        risks: risks of installing the wheel anywhere; each is marked as allowed or not.
        warnings: advisories and weaknesses that the user should know.
    """

    request: Request
    interpreter: Interpreter
    prepare: tuple[SystemPackages | PrivateHeaders | CondaToolchain, ...]
    build: Build
    risks: tuple[PlanRisk, ...]
    warnings: tuple[str, ...]


PlanConsent = Callable[[Plan], Plan]
"""Asks for consent to a plan, and returns the plan with the accepted risks; raises if the user declines."""


@immutable
class SetupOutcome:
    """The outcome of a plan.

    Attributes:
        plan: the plan that was carried out.
        receipt: the receipt of the setup that is now in effect.
        after: the verified facts of the target; None if not all of doctor's facts were observed.
    """

    plan: Plan
    receipt: Receipt
    after: Facts | None = None


def compute_facts_digest(facts: Facts) -> str:
    """Return a SHA-256 over the facts that a decision depends on.

    The digest leaves out: times and inodes of files, which differ in a copy of the environment; which installers were
    used; active environments of the shell; import paths before site-packages; the CPU's name, cores and quota; the
    guards; fastinstall's own location; and facts that are observed only on request (runtime and toolchain).
    """
    conda, cpu = facts.conda, facts.cpu
    known = None
    if conda is not None:  # no decision depends on the conda program itself
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


PLAN_AGAIN = "make a new plan: fastinstall plan -o FILE"


def select_named_releases(plan: Plan | None, releases: Releases) -> Releases:
    """Return only releases that are no later than the files of a saved plan: later ones must not change the plan.

    Without a saved plan, return all releases.

    Raises:
        RefusedError: a file of the plan is not offered, or only with another hash.
    """
    if plan is None:
        return releases
    named = {(each.filename, each.sha256) for step in plan.steps for each in step.list_artefacts()}
    seen = set[tuple[str, str]]()

    def drop_later(offered: tuple[Artefact, ...]) -> tuple[Artefact, ...]:
        seen.update((each.filename, each.sha256) for each in offered)
        taken = [parse_version_number(each.version) for each in offered if (each.filename, each.sha256) in named]
        return tuple(each for each in offered if taken and parse_version_number(each.version) <= max(taken))

    seen.update((each.filename, each.sha256) for each in releases.headers.values())
    found = replace(
        releases,
        sources=drop_later(releases.sources),
        wheels=drop_later(releases.wheels),
        statics={name: drop_later(offered) for name, offered in releases.statics.items()},
        compilers=drop_later(releases.compilers),
        prebuilt=drop_later(releases.prebuilt),
    )
    for filename, sha256 in sorted(named - seen):
        raise RefusedError(
            f"{releases.origin} has no {filename} with sha256 {sha256 or 'unknown'}, which the plan names",
            hint=PLAN_AGAIN,
        )
    return found


def allow_risks(plan: Plan, allowed: Iterable[Risk]) -> Plan:
    """Return the plan with exactly these risks accepted, whatever risks the plan itself marks as allowed."""
    names = tuple(allowed)
    risks = tuple(replace(plan_risk, allowed=plan_risk.risk in names) for plan_risk in plan.risks)
    return replace(plan, risks=risks, request=replace(plan.request, allow=names))


def list_fetched_artefacts(plan: Plan) -> tuple[str, ...]:
    """Return a line for each file that applying a plan would fetch, with its address and required hash."""
    lines: list[str] = []
    for step in plan.steps:
        lines += (
            f"fetch {each.filename} from {each.url} sha256 {each.sha256 or 'unknown'}" for each in step.list_artefacts()
        )
        lines += (f"fetch {each.dist} from {each.url or each.channel}" for each in step.list_conda_packages())
    return tuple(dict.fromkeys(lines))


_UNJUDGED = frozenset(
    {"reason", "jobs", "url", "mirrors", "index", "size", "facts_digest", "allow", "allowed", "python"}
)
"""Keys that may differ between a saved plan and one made now: reasons, limits of the machine, locations of a file with
the same hash, and values that are checked separately (digest of the facts, accepted risks, interpreter)."""

_BRIEF = 200


def find_differences(saved: Plan, anew: Plan) -> Iterator[tuple[str, str]]:
    """Yield the differences between a saved plan and one made now, as pairs of dotted key and description.

    Warnings that only the saved plan has do not count: they may concern a release later than the saved plan's, and such
    releases are now left out.
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
