"""How long what is left of a setup will take: by what its phases took here before, else by the usual figures. Pure."""

from collections.abc import Sequence

from fastinstall.model.durations import Durations
from fastinstall.model.event import Foretold, Started
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.steps import Build, CondaToolchain, MakeCondaPackages, PrivateHeaders, Prove, SystemPackages

USUAL = {
    "equip": 6.0,
    "prepare": 10.0,
    "compile": 26.0,
    "bundle": 2.0,
    "prove": 12.0,
    "stage": 1.0,
    "try": 1.0,
    "measure": 5.0,
    "finish": 2.0,
}
"""Seconds of each phase of a setup with two CPU levels, in their order: 2 CPUs of an AMD EPYC virtual machine that did
nothing else, and a network that brings 100 MB in some seconds (2026-11-21)."""

MAKING = ("prepare", "compile", "bundle", "prove")
"""Phases that are left out where the cache has the wheel."""

_LEAST_SHARE = 0.2
_GRACE = 1.5
_LEAST = 0.1
_STAGES = {
    "packages": "equip",
    "headers": "equip",
    "toolchain": "equip",
    "download": "prepare",
    "library": "prepare",
    "merge": "prepare",
    "compile": "compile",
    "bundle": "bundle",
    "stage": "stage",
    "measure": "measure",
    "swap": "finish",
    "verify": "finish",
}


@immutable
class Outlook:
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


def outlook(plan: Plan, durations: Durations, identity: str) -> Outlook:
    """What a plan will take.

    Args:
        plan: with a step that builds, or without one.
        durations: of earlier setups.
        identity: digest of the build, as `Durations.built` has it.
    """
    names = [name for name in USUAL if name in _needed(plan, identity in durations.built)]
    known = {name: durations.phases.get(f"{subject(plan)} {name}") for name in names}
    phases = {name: USUAL[name] if seconds is None else seconds for name, seconds in known.items()}
    return Outlook(phases=phases, measured=None not in known.values())


def subject(plan: Plan) -> str:
    """What is built, as the names of remembered phases begin: recipe and levels."""
    build = next((step for step in plan.steps if isinstance(step, Build)), None)
    return f"{build.recipe} {','.join(build.levels)}" if build is not None else plan.verb


def phase_of(event: Started) -> str | None:
    """The phase that a stage belongs to; None for one that is no part of a setup that was consented to."""
    if event.stage == "prove":
        return "prove" if event.message.startswith("proving") else "try"
    return _STAGES.get(event.stage)


def remaining(seen: Outlook, moment: Moment) -> Foretold:
    """What is left, in a phase and after it."""
    names = list(seen.phases)
    later = _after(names, moment.phase)
    rest = sum(seen.phases[name] for name in later)
    expected = seen.phases.get(moment.phase, 0.0)
    if moment.share >= _LEAST_SHARE:
        left = moment.elapsed / moment.share - moment.elapsed
    elif moment.elapsed > max(expected * _GRACE, expected + 2.0):
        return Foretold(seconds=None, measured=seen.measured)
    else:
        left = max(expected - moment.elapsed, 0.0)
    return Foretold(seconds=max(left + rest, _LEAST), measured=seen.measured)


def _after(names: Sequence[str], phase: str) -> Sequence[str]:
    order = list(USUAL)
    place = order.index(phase) if phase in order else -1
    return [name for name in names if order.index(name) > place]


def _needed(plan: Plan, in_cache: bool) -> frozenset[str]:  # noqa: FBT001 (a fact, and no option)
    build = next((step for step in plan.steps if isinstance(step, Build)), None)
    if build is None:
        return frozenset({"finish"})
    proving = [step for step in plan.steps if isinstance(step, Prove)]
    found = {"stage", "try", "finish"}
    if any(step.timed for step in proving) or any(isinstance(step, MakeCondaPackages) for step in plan.steps):
        found.add("measure")
    if build.cached and not in_cache:
        found.add("prove")  # by this Python, for which it was not made
    elif build.prebuilt is None and not in_cache:
        found |= set(MAKING)
        if any(isinstance(step, SystemPackages | PrivateHeaders | CondaToolchain) for step in plan.steps):
            found.add("equip")
    return frozenset(found)
