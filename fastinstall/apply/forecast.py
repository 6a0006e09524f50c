"""Forecast how long the phases of a setup will take, by what earlier setups took on this machine. Pure.

A phase that has never run here is estimated by typical figures.
"""

from dataclasses import field

from fastinstall.core.events import RemainingTime, Started
from fastinstall.core.values import immutable
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import Preparing, find_step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.prove import Prove


@immutable
class Durations:
    """What is remembered of earlier setups.

    Attributes:
        phases: name of a phase, of what was built ("pillow-fast x86-64-v2,x86-64-v3 compile"), to its seconds.
        built: digests of builds that went through, whose wheel the cache will therefore have.
    """

    phases: dict[str, float] = field(default_factory=dict)
    built: tuple[str, ...] = ()


USUAL = {
    "environment": 6.0,
    "equip": 6.0,
    "prepare": 10.0,
    "compile": 26.0,
    "bundle": 2.0,
    "prove": 12.0,
    "stage": 1.0,
    "try": 1.0,
    "measure": 5.0,
    "conda": 15.0,
    "finish": 2.0,
}
"""Seconds of each phase of a setup with two CPU levels, in their order: 2 CPUs of an AMD EPYC virtual machine that did
nothing else, and a network that brings 100 MB in some seconds (2026-11-21)."""

_LINKING = 12.0
"""Seconds of staging where an engine of conda's links packages."""

MAKING = ("prepare", "compile", "bundle", "prove")
"""Phases that are left out where the cache has the wheel."""

LEAST_LEFT = 0.25
"""A phase that takes longer than expected is expected to take this much more of what it has taken."""

_LEAST = 0.1

_STAGES = {
    "environment": "environment",
    "packages": "equip",
    "headers": "equip",
    "toolchain": "equip",
    "download": "prepare",
    "library": "prepare",
    "compile": "compile",
    "bundle": "bundle",
    "stage": "stage",
    "measure": "measure",
    "conda": "conda",
    "swap": "finish",
    "verify": "finish",
}


@immutable
class SetupForecast:
    """The phases of a setup, and what each is expected to take.

    Attributes:
        phases: in order, with seconds.
        measured: whether all of these seconds were measured on this machine.
    """

    phases: dict[str, float]
    measured: bool

    @property
    def seconds(self) -> float:
        """Of all of them."""
        return sum(self.phases.values())


@immutable
class Moment:
    """Where a setup stands.

    Attributes:
        phase: the one that goes on.
        elapsed: seconds since it began.
        share: of its work that is done, 0 to 1; 0 where nobody counts.
    """

    phase: str
    elapsed: float
    share: float = 0.0


def forecast_setup(plan: Plan, durations: Durations, identity: str) -> SetupForecast:
    """Forecast the phases of a plan, and what each will take.

    Args:
        plan: with a step that builds, or without one.
        durations: what earlier setups on this machine took.
        identity: digest of the build, as `Durations.built` has it.
    """
    needed, kinds = _list_needed_phases(plan, identity in durations.built), [type(step) for step in plan.steps]
    names = [name for name in USUAL if name in needed]
    if "conda" in needed and kinds.index(ChangeCondaPackages) < kinds.index(Build):
        names = ["conda", *(name for name in names if name != "conda")]
    known = {name: durations.phases.get(f"{describe_build_subject(plan)} {name}") for name in names}
    usual = {**USUAL, "stage": _LINKING} if MakeCondaPackages in kinds else USUAL
    phases = {name: usual[name] if seconds is None else seconds for name, seconds in known.items()}
    return SetupForecast(phases=phases, measured=None not in known.values())


def describe_build_subject(plan: Plan) -> str:
    """Return what is built, as the names of remembered phases begin: recipe and levels."""
    build = find_step(plan.steps, Build)
    return f"{build.recipe} {','.join(build.levels)}" if build is not None else plan.verb


def phase_of(event: Started) -> str | None:
    """Return the phase that a stage belongs to; None for one that is no part of a setup that was consented to."""
    if event.stage == "prove":
        return "prove" if event.message.startswith("proving") else "try"
    return _STAGES.get(event.stage)


def estimate_remaining_time(seen: SetupForecast, moment: Moment) -> RemainingTime:
    """Estimate what is left, in a phase and after it."""
    order = list(seen.phases if moment.phase in seen.phases else USUAL)
    passed = order[: order.index(moment.phase) + 1]
    after = sum(seconds for name, seconds in seen.phases.items() if name not in passed)
    expected, undone = seen.phases.get(moment.phase, 0.0), 1 - moment.share
    if moment.share:  # first what was expected counts, at the end the pace so far
        left = undone * (undone * expected + moment.elapsed)
    else:
        left = max(expected - moment.elapsed, moment.elapsed * LEAST_LEFT)
    seconds = max(left + after, _LEAST)
    return RemainingTime(seconds=seconds, phase=moment.phase, after=after)


def _list_needed_phases(plan: Plan, in_cache: bool) -> frozenset[str]:  # noqa: FBT001 (a fact, and no option)
    build = find_step(plan.steps, Build)
    if build is None:
        return frozenset({"finish"})
    proving = [step for step in plan.steps if isinstance(step, Prove)]
    found = {"stage", "try", "finish"}
    if find_step(plan.steps, CreateEnvironment) is not None:
        found.add("environment")
    if any(step.timed for step in proving):
        found.add("measure")
    if find_step(plan.steps, ChangeCondaPackages) is not None:
        found.add("conda")
    if build.cached and not in_cache:
        found.add("prove")  # by this Python, for which it was not made
    elif build.prebuilt is None and not in_cache:
        found |= set(MAKING)
        if build.clang is not None or any(isinstance(step, Preparing) for step in plan.steps):
            found.add("equip")
    return frozenset(found)
