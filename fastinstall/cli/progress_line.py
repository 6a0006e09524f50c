"""What a run is doing at this moment, in one line: the work, how much of it is done, how long the rest will take."""

from fastinstall.model.event import Event, Finished, Foretold, Progressed, Started
from fastinstall.model.immutable import immutable

_BAR = 20
_LEAST_DONE = 2
_MINUTE = 60
_ROUGH = 20
_STEP = 5
_BEFORE = ("index", "solve")
"""Stages before a plan, after which somebody may be asked: nothing is told about them while the question stands."""


@immutable
class State:
    """What is known of a run that goes on.

    Attributes:
        stage: the one that was heard of last; empty where none goes on.
        message: what it said when it began.
        begun: when it did, in seconds of any clock.
        done: units of it that are done.
        total: all of them; 0 where nobody counts.
        counted: when its units began to be counted.
        end: when all will be done, by the same clock, or None if unknown.
        overdue: whether it takes longer than it ever did.
        measured: whether earlier runs here say so.
    """

    stage: str = ""
    message: str = ""
    begun: float = 0.0
    done: int = 0
    total: int = 0
    counted: float = 0.0
    end: float | None = None
    overdue: bool = False
    measured: bool = False


def heard(state: State, event: Event, now: float) -> State:
    """The state after an event."""
    if _says_nothing_goes_on(event):
        return State()
    match event:
        case Started():
            return _changed(state, stage=event.stage, message=event.message, begun=now, done=0, total=0)
        case Progressed():
            return _counted(state, event, now)
        case Finished() if event.stage == state.stage:
            return _changed(state, stage="", message="", done=0, total=0)
        case Foretold():
            end = None if event.seconds is None else now + event.seconds
            return _changed(state, end=end, overdue=event.seconds is None, measured=event.measured)
        case _:
            return state


def line_of(state: State, now: float, *, width: int = 80) -> str:
    """The state in at most `width` columns; a bar of ASCII only where units are counted and there is room."""
    counts = f"{state.done}/{state.total}" if state.total else ""
    facts = ", ".join(part for part in (counts, left(state, now)) if part)
    work = state.message or state.stage
    bar = f" [{_filled(state)}]" if state.total and width >= len(facts) + _BAR * 2 else ""
    room = max(width - len(facts) - len(bar) - 2, 8)
    if len(work) > room:
        work = work[: room - 3].rstrip() + "..."
    return f"{work}{bar}  {facts}"[:width]


def said(state: State, now: float) -> str:
    """The state as a sentence, for those who hear it."""
    counts = f", {state.done} of {state.total}" if state.total else ""
    told = left(state, now)
    return f"still {state.message or state.stage}{counts}, {round(now - state.begun)} s so far" + (told and f"; {told}")


def left(state: State, now: float) -> str:
    """Describe how long the rest will take, or return "" if unknown."""
    if state.end is not None:
        seconds = state.end - now
        if seconds > 0:
            return f"{about(seconds)} left in all"
        return "longer than before" if state.measured else "longer than usual"
    if state.overdue:
        return "longer than before" if state.measured else "longer than usual"
    if state.total and state.done >= _LEAST_DONE:
        rate = (now - state.counted) / state.done
        return f"{about(rate * (state.total - state.done))} left of this"
    return ""


def about(seconds: float) -> str:
    """A duration that is only foretold, no finer than it can be known."""
    if seconds >= _MINUTE * 1.5:
        return f"about {round(seconds / _MINUTE)} min"
    rough = max(round(seconds / _STEP) * _STEP, _STEP) if seconds > _ROUGH else max(round(seconds), 1)
    return f"about {rough} s"


def _says_nothing_goes_on(event: Event) -> bool:
    return (isinstance(event, Foretold) and event.seconds == 0) or (
        isinstance(event, Started) and event.stage in _BEFORE
    )


def _filled(state: State) -> str:
    filled = _BAR * state.done // state.total
    return "#" * filled + "." * (_BAR - filled)


def _counted(state: State, event: Progressed, now: float) -> State:
    if not event.total:
        return state
    if event.stage != state.stage or not state.total:
        state = _changed(state, stage=event.stage, counted=now)
    return _changed(state, done=event.done, total=event.total)


def _changed(state: State, **changes: object) -> State:
    from dataclasses import replace  # noqa: PLC0415 (only where something is shown)

    return replace(state, **changes)  # type: ignore[arg-type]  # fields of State, by their names
