"""Tell how long the rest of a setup will take, and remember how long its phases took on this machine.

Past durations are kept in the cache beside what those phases made.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.apply.forecast import (
    MAKING,
    Durations,
    Moment,
    SetupForecast,
    describe_build_subject,
    estimate_remaining_time,
    forecast_setup,
    phase_of,
)
from fastinstall.apply.late_interrupts import report_interruption_after_completion
from fastinstall.core import foreign
from fastinstall.core.codec import digest, document, dump
from fastinstall.core.errors import FastinstallError
from fastinstall.core.events import Event, Progressed, RemainingTime, Started
from fastinstall.core.files import write_text
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.kinds import find_step
from fastinstall.steps.prove import Prove

FILE = "durations.json"
"""In the cache."""

_KEPT = 200
_COUNTED = ("compile", "measure")


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
    measured = recipe_named(session, plan.request.recipe).bench.measured.partition(" (")[0]
    if build is None or build.prebuilt is not None or not measured:
        return ""
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
