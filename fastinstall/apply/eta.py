"""Tell how long the rest of a setup will take, and remember how long its phases took on this machine.

A phase that has never run here is estimated by typical figures. Past durations are kept in the cache beside what those
phases made.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from fastinstall.apply.late_interrupts import report_interruption_after_completion
from fastinstall.core import foreign
from fastinstall.core.codec import digest, document, dump
from fastinstall.core.errors import FastinstallError
from fastinstall.core.events import Event, Progressed, RemainingTime, Started
from fastinstall.core.files import write_text
from fastinstall.core.values import immutable
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import Preparing, find_step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.prove import Prove

FILE = "durations.json"
"""In the cache."""
_KEPT = 200
_COUNTED = ("compile", "measure")
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
class Durations:
    """What is remembered of earlier setups.

    Attributes:
        phases: name of a phase, of what was built ("pillow-fast x86-64-v2,x86-64-v3 compile"), to its seconds.
        built: digests of builds that went through, whose wheel the cache will therefore have.
    """

    phases: dict[str, float] = field(default_factory=dict)
    built: tuple[str, ...] = ()


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


@contextmanager
def announce_eta(session: Session, plan: Plan) -> Iterator[Session]:
    """Give a session whose listener also hears what is left; what it took is kept if the block succeeds.

    Args:
        session: variables, directories and the listener of this run.
        plan: what the block carries out.

    Raises:
        InterruptedAfterCompletion: interrupted behind the block, when all was done.
    """
    teller = _Teller(session.emit, estimate_durations(session, plan), time.monotonic)
    over = RemainingTime(seconds=0.0)
    try:
        if plan.steps:
            teller.begin()
        yield session.listening(teller)
    except BaseException:
        session.emit(over)
        raise
    with report_interruption_after_completion(plan.environment.prefix, plan.verb):
        session.emit(over)
        if plan.steps:
            _write_durations(session, plan, teller.measure_phases())


def estimate_durations(session: Session, plan: Plan) -> SetupForecast:
    """Estimate what carrying out a plan will take, before it begins."""
    seen = forecast_setup(plan, _read_durations(session.directories.cache / FILE), _compute_identity(plan))
    if "measure" in seen.phases and find_known_speed(session, plan) is not None:
        return replace(seen, phases={name: seconds for name, seconds in seen.phases.items() if name != "measure"})
    return seen


def find_known_speed(session: Session, plan: Plan) -> SpeedTable | None:
    """Find what an earlier setup on this machine measured of what a plan installs; None without a record."""
    build, proof = find_step(plan.steps, Build), find_step(plan.steps, Prove)
    if build is None or proof is None:
        return None
    return proof.find_known_speed(build, observe_cpu(allowed_cores=0).name, session.directories.cache)


def describe_expected_gain(session: Session, plan: Plan) -> str:
    """Describe how much faster a plan makes Pillow, as measured here or as its recipe says; empty if unknown."""
    known = find_known_speed(session, plan)
    if known is not None:
        return f"{known.gain.replace(' (wheel)', '')}, as measured here"
    build, proof = find_step(plan.steps, Build), find_step(plan.steps, Prove)
    recipe = recipe_named(session, plan.request.recipe)
    measured = recipe.bench.measured.partition(" (")[0]
    if build is None or build.prebuilt is not None or not measured:
        return ""
    architecture = next((level.architecture for level in recipe.levels if level.name in build.levels), "")
    if architecture != recipe.bench.architecture:
        return recipe.bench.measured_on(architecture)
    compared = proof.baseline.version if proof is not None and proof.baseline is not None else ""
    other = f"; not measured against {compared}, the newest for this Python" if compared not in measured else ""
    return f"{measured}, measured on another machine{other}"


class _Teller:
    """Passes events on, and says after each what is left; events come from several threads."""

    def __init__(self, emit: Callable[[Event], None], seen: SetupForecast, clock: Callable[[], float]) -> None:
        self._emit = emit
        self._seen = seen
        self._clock = clock
        self._lock = threading.Lock()
        self._begun: dict[str, float] = {}
        self._phase = ""

    def __call__(self, event: Event) -> None:
        self._emit(event)
        with self._lock:
            told = self._answer_event(event)
        if told is not None:
            self._emit(told)

    def begin(self) -> None:
        """Emit what is left before anything has happened."""
        self._emit(estimate_remaining_time(self._seen, Moment(phase=next(iter(self._seen.phases)), elapsed=0.0)))

    def measure_phases(self) -> dict[str, float]:
        """Measure the seconds of each phase: up to the one after it."""
        edges = [*self._begun.values(), self._clock()]
        return {name: end - start for name, start, end in zip(self._begun, edges, edges[1:], strict=False)}

    def _answer_event(self, event: Event) -> RemainingTime | None:
        if isinstance(event, Started):
            return self._begin_phase(event)
        if isinstance(event, Progressed) and self._phase and event.total:
            # Elsewhere several works of one phase are counted apart.
            return self._estimate_rest(event.done / event.total if event.stage == self._phase in _COUNTED else 0.0)
        return None

    def _begin_phase(self, event: Started) -> RemainingTime | None:
        if event.stage == "index":  # another version is looked for: all begins again
            self._phase = ""
            self._begun.clear()
        phase = phase_of(event)
        if phase is None:
            return None
        if phase not in self._begun:
            self._begun[phase] = self._clock()
            self._phase = phase
        return self._estimate_rest(0.0)

    def _estimate_rest(self, share: float) -> RemainingTime:
        elapsed = self._clock() - self._begun[self._phase]
        return estimate_remaining_time(self._seen, Moment(phase=self._phase, elapsed=elapsed, share=share))


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


def _write_durations(session: Session, plan: Plan, took: dict[str, float]) -> None:
    """Add what was measured; that it cannot be written is no reason to stop."""
    file = session.directories.cache / FILE
    was = _read_durations(file)
    made = "compile" in took
    measured = {
        f"{describe_build_subject(plan)} {name}": round(seconds, 2)
        for name, seconds in took.items()
        if made or name not in MAKING  # from the cache they take no time
    }
    phases = dict(list({**was.phases, **measured}.items())[-_KEPT:])
    built = tuple(dict.fromkeys((*was.built, *filter(None, [_compute_identity(plan)]))))[-_KEPT:]
    with contextlib.suppress(OSError, FastinstallError):
        text = dump(document("durations", replace(was, phases=phases, built=built)))
        write_text(session.own_cache() / FILE, text, durable=False)


def _compute_identity(plan: Plan) -> str:
    build = find_step(plan.steps, Build)
    return digest(replace(build, jobs=0, reason="", cached="")) if build is not None else ""


def _read_durations(file: Path) -> Durations:
    """Return what is remembered; without it, or with that of another version, the usual figures serve."""
    return foreign.read_kept(Durations, "durations", file) or Durations()


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
