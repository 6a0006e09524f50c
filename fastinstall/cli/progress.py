"""Events as a person sees them: a live line with remaining time on a terminal, plain lines elsewhere.

The line says what is being done, how much of it is done, and how long the rest will take. For a terminal that knows
only lines, or a screen reader, the state is printed every so often instead.
"""

import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fastinstall.cli.console import Console
from fastinstall.cli.questions import fit
from fastinstall.core.events import Event, Finished, Noted, Progressed, RemainingTime, Started
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_PATIENCE = 10.0
_FRAMES = 4


class ProgressLines:
    """Every stage as a line when it begins and when it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case Started():
                self._tell(event.message)
            case Finished():
                self._tell(f"{event.message} ({event.seconds:.1f} s)")
            case Noted() if event.warning:
                self._tell(f"warning: {event.message}", "warning")
            case Noted():
                self._tell(event.message)
            case Progressed() | RemainingTime():
                return

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""

    def _tell(self, text: str, style: str = "") -> None:
        self._console.talk("\n".join(self._console.err.lines(text, rest="  ", style=style)))


class ProgressSentences(ProgressLines):
    """Lines, and where nothing is heard for a while, one that says what goes on and how long it will take.

    Args:
        console: where to say it.
        patience: seconds without a line.
    """

    def __init__(self, console: Console, patience: float = _PATIENCE) -> None:
        super().__init__(console)
        self._patience = patience
        self._state = ProgressState()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = advance_state(self._state, event, time.monotonic())
            super().__call__(event)
        if not isinstance(event, Progressed | RemainingTime):
            self._news.set()
        if self._thread is None and self._state.end is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say nothing any more."""
        self._over = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._over:
            if self._news.wait(self._patience):
                self._news.clear()
                continue
            with self._lock:
                if self._state.stage:
                    self._tell(describe_state(self._state, time.monotonic()))


class ProgressBar(ProgressLines):
    """Lines, and below them one that is alive while something goes on whose end can be told."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._state = ProgressState()
        self._live: Live | None = None
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = advance_state(self._state, event, time.monotonic())
            if not isinstance(event, Progressed | RemainingTime):
                self._stop()
                super().__call__(event)
            self._show()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away, and show the cursor again."""
        with self._lock:
            self._state = ProgressState()
            self._stop()

    def _show(self) -> None:
        state = self._state
        told = state.total > state.done or (state.stage and (state.end is not None or state.overdue))
        if not told:
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
    """A listener for stderr, to be entered before its first event and left after its last."""
    if console.err.width is None:
        return ProgressLines(console)
    return ProgressSentences(console) if console.lines_only else ProgressBar(console)


_BAR = 20
_LEAST_DONE = 2
_MINUTE = 60
_ROUGH = 20
_STEP = 5
_BEFORE = ("index", "solve")
"""Stages before a plan, after which somebody may be asked: nothing is told about them while the question stands."""


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


def advance_state(state: ProgressState, event: Event, now: float) -> ProgressState:
    """The state after an event."""
    if _is_end_of_work(event):
        return ProgressState()
    match event:
        case Started():
            return replace(state, stage=event.stage, message=event.message, begun=now, done=0, total=0)
        case Progressed():
            return _count_progress(state, event, now)
        case Finished() if event.stage == state.stage:
            return replace(state, stage="", message="", done=0, total=0)
        case RemainingTime():
            end = None if event.seconds is None else now + event.seconds
            return replace(state, end=end, overdue=event.seconds is None, measured=event.measured)
        case _:
            return state


def line_of(state: ProgressState, now: float, *, width: int = 80) -> str:
    """The state in at most `width` columns; a bar of ASCII only where units are counted and there is room."""
    counts = f"{state.done}/{state.total}" if state.total else ""
    facts = ", ".join(part for part in (counts, describe_time_left(state, now)) if part)
    work = state.message or state.stage
    bar = ""
    if state.total and width >= len(facts) + _BAR * 2:
        bar = f" [{'#' * (_BAR * state.done // state.total):.<{_BAR}}]"
    room = max(width - len(facts) - len(bar) - 2, 8)
    if len(work) > room:
        work = work[: room - 3].rstrip() + "..."
    return f"{work}{bar}  {facts}"[:width]


def describe_state(state: ProgressState, now: float) -> str:
    """The state as a sentence, for those who hear it."""
    counts = f", {state.done} of {state.total}" if state.total else ""
    told = describe_time_left(state, now)
    return f"still {state.message or state.stage}{counts}, {round(now - state.begun)} s so far" + (told and f"; {told}")


def describe_time_left(state: ProgressState, now: float) -> str:
    """Describe how long the rest will take, or return "" if unknown."""
    if state.end is not None and state.end > now:
        return f"{format_rough_duration(state.end - now)} left in all"
    if state.end is not None or state.overdue:
        return "longer than before" if state.measured else "longer than usual"
    if state.total and state.done >= _LEAST_DONE:
        rate = (now - state.counted) / state.done
        return f"{format_rough_duration(rate * (state.total - state.done))} left of this"
    return ""


def format_rough_duration(seconds: float) -> str:
    """A duration that is only foretold, no finer than it can be known."""
    if seconds >= _MINUTE * 1.5:
        return f"about {round(seconds / _MINUTE)} min"
    rough = max(round(seconds / _STEP) * _STEP, _STEP) if seconds > _ROUGH else max(round(seconds), 1)
    return f"about {rough} s"


def _is_end_of_work(event: Event) -> bool:
    return (isinstance(event, RemainingTime) and event.seconds == 0) or (
        isinstance(event, Started) and event.stage in _BEFORE
    )


def _count_progress(state: ProgressState, event: Progressed, now: float) -> ProgressState:
    if not event.total:
        return state
    if event.stage != state.stage or not state.total:
        state = replace(state, stage=event.stage, counted=now)
    return replace(state, done=event.done, total=event.total)
