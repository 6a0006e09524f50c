"""Events as a person sees them: a live line with remaining time on a terminal, plain lines elsewhere.

The line says what is being done, how much of it is done, and how long the rest will take. For a terminal that knows
only lines, or a screen reader, the state is printed every so often instead.
"""

import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fastinstall.apply.cost import describe_cost
from fastinstall.apply.eta import describe_expected_gain, estimate_durations
from fastinstall.apply.forecast import LEAST_LEFT
from fastinstall.cli.console import Console
from fastinstall.cli.questions import fit
from fastinstall.core.events import Event, Finished, Noted, Progressed, RemainingTime, Started
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from fastinstall.observe.session import Session
    from fastinstall.plan.plan import Plan

_PATIENCE = 10.0
_FRAMES = 4

_PHASES = {
    "environment": "making the virtual environment",
    "equip": "preparing the sources",
    "prepare": "preparing the sources",
    "compile": "compiling",
    "bundle": "compiling",
    "prove": "comparing with the official wheel",
    "stage": "testing it and measuring its speed",
    "try": "testing it and measuring its speed",
    "measure": "testing it and measuring its speed",
    "conda": "changing conda's packages",
    "finish": "installing and checking it",
}
"""The phases of a setup in words, several by the same: a person wants to know where it stands, not all it does."""


class ProgressLines:
    """A line when a stage begins, and where nothing is heard for a while, one that says how it stands.

    Args:
        console: where to say it.
        patience: seconds without a line; twice as many after each line that nothing new has happened, to the end of
            the run: a slow machine gets a few lines more, not a page.
    """

    def __init__(self, console: Console, patience: float = _PATIENCE) -> None:
        self._console = console
        self._patience = patience
        self._state = ProgressState()
        self._lock = threading.RLock()
        self._news = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            before, self._state = self._state, advance_state(self._state, event, time.monotonic())
            self._show(event, before)
        if self._thread is None and (self._state.phase or self._state.stage):
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing progress."""
        self._over = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self, event: Event, before: "ProgressState") -> None:
        if self._state.work and self._state.work != before.work:
            told = describe_time_left(self._state, time.monotonic())
            self._tell(", ".join(filter(None, (self._state.work, told))))
        elif text := self._describe_event(event):
            self._tell(text, "warning" if isinstance(event, Noted) and event.warning else "")

    def _describe_event(self, event: Event) -> str:
        """Describe an event; while a setup goes on only what its phases do not say, unless more is wanted."""
        verbose = self._console.verbose
        match event:
            case Started() if verbose or not self._state.phase:
                return event.message
            case Finished() if verbose:
                return f"{event.message} ({event.seconds:.1f} s)"
            case Noted() if verbose or not event.detail:
                return f"warning: {event.message}" if event.warning else event.message
            case _:
                return ""

    def _watch(self) -> None:
        patience = self._patience
        while not self._over:
            heard = self._news.wait(patience)
            self._news.clear()
            patience = patience if heard else 2 * patience
            with self._lock:
                if not heard and (self._state.phase or self._state.stage):
                    self._tell(describe_state(self._state, time.monotonic()))
                    self._news.clear()

    def _tell(self, text: str, style: str = "") -> None:
        self._news.set()
        self._console.talk("\n".join(self._console.err.lines(text, rest="  ", style=style)))


class ProgressBar(ProgressLines):
    """Lines for what should stay, and below them one that is alive while something goes on."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = advance_state(self._state, event, time.monotonic())
            if text := self._describe_event(event):
                self._stop()
                self._tell(text, "warning" if isinstance(event, Noted) and event.warning else "")
            self._refresh()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away, and show the cursor again."""
        with self._lock:
            self._state = ProgressState()
            self._stop()

    def _refresh(self) -> None:
        state = self._state
        if not (state.phase or state.stage):
            self._stop()
        elif self._live is None:
            self._start()

    def _start(self) -> None:
        from rich.console import Console as RichConsole  # noqa: PLC0415 (only where something is alive)
        from rich.live import Live  # noqa: PLC0415

        page = self._console.err
        terminal = RichConsole(stderr=True, no_color=not page.colour, width=page.width, highlight=False)
        self._live = Live(
            get_renderable=self._render_line,
            console=terminal,
            transient=True,
            refresh_per_second=_FRAMES,
            redirect_stdout=False,  # results are never laid out anew
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def _render_line(self) -> "Text":
        from rich.text import Text  # noqa: PLC0415

        width = (self._console.err.width or 80) - 1
        text = fit(line_of(self._state, time.monotonic(), width=width), self._console.known)
        return Text(text, no_wrap=True, overflow="crop")

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def progress_listener(console: Console) -> ProgressLines:
    """Return a listener for stderr, to be entered before its first event and left after its last."""
    return ProgressLines(console) if console.err.width is None or console.lines_only else ProgressBar(console)


_BAR = 20
_LEAST_DONE = 2
_MINUTE = 60
_ROUGH = 20
_STEP = 5
_MEGABYTE = 1_000_000


@immutable
class ProgressState:
    """What is known of a run that goes on.

    Attributes:
        stage: the one that was heard of last; empty if none goes on.
        message: what it said when it began.
        begun: when it did, in seconds of any clock.
        done: units of it that are done.
        total: all of them; 0 where nobody counts.
        counted: when its units began to be counted.
        phase: the part of a setup that goes on; empty outside of one.
        since: when this phase began.
        end: when all will be done, by the same clock, or None if unknown.
        after: seconds of the phases after this one.
    """

    stage: str = ""
    message: str = ""
    begun: float = 0.0
    done: int = 0
    total: int = 0
    counted: float = 0.0
    phase: str = ""
    since: float = 0.0
    end: float | None = None
    after: float = 0.0

    @property
    def work(self) -> str:
        """What a setup does, in words; empty outside of one."""
        return _PHASES.get(self.phase, self.phase)


def advance_state(state: ProgressState, event: Event, now: float) -> ProgressState:
    """Return the state after an event; none before a plan, after which somebody may be asked."""
    match event:
        case RemainingTime(seconds=0) | Started(stage="index" | "solve"):
            return ProgressState()
        case Started():
            return replace(state, stage=event.stage, message=event.message, begun=now, done=0, total=0)
        case Progressed():
            return _count_progress(state, event, now)
        case Finished() if event.stage == state.stage:
            return replace(state, stage="", message="", done=0, total=0)
        case RemainingTime():
            since = now if state.end is None or event.phase != state.phase else state.since
            return replace(state, end=now + event.seconds, after=event.after, phase=event.phase, since=since)
        case _:
            return state


def line_of(state: ProgressState, now: float, *, width: int = 80) -> str:
    """Return the state in at most `width` columns; a bar of ASCII only where units are counted and there is room."""
    facts = ", ".join(filter(None, (_describe_counts(state, "/"), describe_time_left(state, now))))
    work = state.work or state.message or state.stage
    bar = ""
    if state.total and width >= len(facts) + _BAR * 2:
        bar = f" [{'#' * (_BAR * state.done // state.total):.<{_BAR}}]"
    room = max(width - len(facts) - len(bar) - 2, 8)
    if len(work) > room:
        work = work[: room - 3].rstrip() + "..."
    return f"{work}{bar}  {facts}"[:width]


def describe_state(state: ProgressState, now: float) -> str:
    """Return the state as a sentence, for those who hear it."""
    counts, left = _describe_counts(state, " of "), describe_time_left(state, now)
    so_far = "" if state.phase else f"{round(now - state.begun)} s so far"
    return f"still {', '.join(filter(None, (state.work or state.message or state.stage, counts, so_far, left)))}"


def _describe_counts(state: ProgressState, between: str) -> str:
    if not state.total:
        return ""
    if state.stage == "download":
        return f"{state.done / _MEGABYTE:.0f}{between}{state.total / _MEGABYTE:.0f} MB"
    return f"{state.done}{between}{state.total}"


def describe_time_left(state: ProgressState, now: float) -> str:
    """Describe how long the rest will take, or return "" if unknown."""
    if state.end is not None:
        left = max(state.end - now, state.after + (now - state.since) * LEAST_LEFT)
        return f"{format_rough_duration(left)} left"
    if state.total and state.done >= _LEAST_DONE:
        rate = (now - state.counted) / state.done
        return f"{format_rough_duration(rate * (state.total - state.done))} left of this"
    return ""


def describe_expectations(session: "Session", plan: "Plan") -> tuple[str, ...]:
    """Return how much faster a plan makes Pillow, how long it takes, and what it downloads and keeps."""
    duration = f"takes {format_rough_duration(estimate_durations(session, plan).seconds)}"
    return describe_expected_gain(session, plan), duration, describe_cost(plan, session.directories.cache)


def format_rough_duration(seconds: float) -> str:
    """Format a duration that is only foretold, no finer than it can be known."""
    if seconds >= _MINUTE * 1.5:
        return f"about {round(seconds / _MINUTE)} min"
    rough = max(round(seconds / _STEP) * _STEP, _STEP) if seconds > _ROUGH else max(round(seconds), 1)
    return f"about {rough} s"


def _count_progress(state: ProgressState, event: Progressed, now: float) -> ProgressState:
    if not event.total:
        return state
    if event.stage != state.stage or not state.total:
        state = replace(state, stage=event.stage, counted=now)
    return replace(state, done=event.done, total=event.total)
