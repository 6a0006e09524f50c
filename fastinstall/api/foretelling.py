"""Tell how long a setup will still take, and remember how long it took, for the next one on this machine."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.api.late import done_already
from fastinstall.api.session import Session
from fastinstall.errors import DocumentError, FastinstallError
from fastinstall.model.codec import digest, document, dump, open_document
from fastinstall.model.durations import Durations
from fastinstall.model.event import Event, Foretold, Progressed, Started
from fastinstall.model.parsing import json_data
from fastinstall.model.plan import Plan
from fastinstall.model.steps import Build
from fastinstall.rules.foretelling import MAKING, Moment, Outlook, outlook, phase_of, remaining, subject
from fastinstall.system import foreign
from fastinstall.system.files import write_text

FILE = "durations.json"
"""In the cache."""

_KEPT = 200
_COUNTED = ("compile", "measure")


@contextmanager
def foretelling(session: Session, plan: Plan) -> Iterator[Session]:
    """A session whose listener also hears what is left (`Foretold`); what it took is kept where the block ends well.

    Args:
        session: the outside world.
        plan: what the block carries out.

    Raises:
        LateInterruption: interrupted behind the block, when all was done.
    """
    teller = _Teller(session.emit, expected(session, plan), time.monotonic)
    over = Foretold(seconds=0.0, measured=True)
    try:
        yield session.listening(teller)
    except BaseException:
        session.emit(over)
        raise
    with done_already(plan.environment.prefix, plan.verb):
        session.emit(over)
        if plan.steps:
            _keep(session, plan, teller.took())


def expected(session: Session, plan: Plan) -> Outlook:
    """What carrying out a plan will take, before it begins."""
    return outlook(plan, _read(session.directories.cache / FILE), _identity(plan))


class _Teller:
    """Passes events on, and says after each what is left; events come from several threads."""

    def __init__(self, emit: Callable[[Event], None], seen: Outlook, clock: Callable[[], float]) -> None:
        self._emit = emit
        self._seen = seen
        self._clock = clock
        self._lock = threading.Lock()
        self._begun: dict[str, float] = {}
        self._phase = ""

    def __call__(self, event: Event) -> None:
        self._emit(event)
        with self._lock:
            told = self._told(event)
        if told is not None:
            self._emit(told)

    def took(self) -> dict[str, float]:
        """Seconds of each phase: up to the one after it."""
        edges = [*self._begun.values(), self._clock()]
        return {name: end - start for name, start, end in zip(self._begun, edges, edges[1:], strict=False)}

    def _told(self, event: Event) -> Foretold | None:
        if isinstance(event, Started):
            return self._started(event)
        if isinstance(event, Progressed) and self._phase and event.total:
            # Elsewhere several works of one phase are counted apart.
            return self._left(event.done / event.total if event.stage == self._phase in _COUNTED else 0.0)
        return None

    def _started(self, event: Started) -> Foretold | None:
        if event.stage == "index":  # another version is looked for: all begins again
            self._phase = ""
            self._begun.clear()
        phase = phase_of(event)
        if phase is None:
            return None
        if phase not in self._begun:
            self._begun[phase] = self._clock()
            self._phase = phase
        return self._left(0.0)

    def _left(self, share: float) -> Foretold:
        elapsed = self._clock() - self._begun[self._phase]
        return remaining(self._seen, Moment(phase=self._phase, elapsed=elapsed, share=share))


def _keep(session: Session, plan: Plan, took: dict[str, float]) -> None:
    """Add what was measured; that it cannot be written is no reason to stop."""
    file = session.directories.cache / FILE
    was = _read(file)
    made = "compile" in took
    measured = {
        f"{subject(plan)} {name}": round(seconds, 2)
        for name, seconds in took.items()
        if made or name not in MAKING  # from the cache they take no time
    }
    phases = dict(list({**was.phases, **measured}.items())[-_KEPT:])
    built = tuple(dict.fromkeys((*was.built, *filter(None, [_identity(plan)]))))[-_KEPT:]
    with contextlib.suppress(OSError, FastinstallError):
        text = dump(document("durations", replace(was, phases=phases, built=built)))
        write_text(session.own_cache() / FILE, text, durable=False)


def _identity(plan: Plan) -> str:
    build = next((step for step in plan.steps if isinstance(step, Build)), None)
    return digest(replace(build, jobs=0, reason="", cached="")) if build is not None else ""


def _read(file: Path) -> Durations:
    try:
        return open_document(Durations, "durations", json_data(foreign.read_text(file)), file=file)
    except (OSError, ValueError, DocumentError):
        return Durations()  # it was never kept, or by another version: the usual figures serve
