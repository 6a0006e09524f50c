"""Events as a person sees them: one live line on a terminal, plain lines elsewhere.

The line says what is being done, how much of it is done, how long it has taken so far, and roughly what is left of a
setup. For a terminal that knows only lines, or a screen reader, the state is printed every so often instead.
"""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from fastinstall.cli.console import Console
from fastinstall.cli.questions import fit
from fastinstall.core.events import Event, Finished, Noted, Progressed, RemainingTime, Started
from fastinstall.core.messages import format_rough_duration
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_PATIENCE = 10.0
_FRAMES = 4
_BAR = 20
_MEGABYTE = 1_000_000

_PHASES = {
    **dict.fromkeys(("toolchain", "download", "headers", "packages", "library"), "preparing the sources"),
    **dict.fromkeys(("compile", "bundle"), "compiling"),
    "prove": "comparing with the official wheel",
    **dict.fromkeys(("stage", "measure"), "testing it and measuring its speed"),
    **dict.fromkeys(("swap", "verify"), "installing and checking it"),
}
"""The phase that a stage of a setup belongs to, in words: where lines stay, one for each phase is enough."""


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
        self._told: set[str] = set()
        self._lock = threading.RLock()
        self._news = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = advance_state(self._state, event, time.monotonic())
            self._show(event)
        if self._thread is None and self._state.stage:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(self, *_failure: object) -> None:
        """Stop showing progress."""
        self._over = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self, event: Event) -> None:
        if not isinstance(event, Started):
            self._tell_lasting(event)
        elif self._console.verbose or not self._state.end:
            self._tell(event.message)
        elif (phase := _PHASES.get(event.stage, event.message)) not in self._told:
            self._told.add(phase)
            self._tell(phase)

    def _tell_lasting(self, event: Event) -> None:
        """Print what stays to be read when the work is over."""
        verbose = self._console.verbose
        match event:
            case Started() if verbose or not self._state.stage:  # for which no line is alive
                self._tell(event.message)
            case Finished() if verbose:
                self._tell(f"{event.message} ({event.seconds:.1f} s)")
            case Noted(warning=True):
                self._tell(f"warning: {event.message}", "warning")
            case Noted() if verbose or not event.detail:
                self._tell(event.message)

    def _watch(self) -> None:
        patience = self._patience
        while not self._over:
            heard = self._news.wait(patience)
            self._news.clear()
            patience = patience if heard else 2 * patience
            with self._lock:
                if not heard and self._state.stage:
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
            self._tell_lasting(event)
            if not self._state.stage:
                self._stop()
            elif self._live is None:
                self._start()

    def __exit__(self, *_failure: object) -> None:
        """Take the line away, and show the cursor again."""
        with self._lock:
            self._stop()

    def _tell(self, text: str, style: str = "") -> None:
        self._stop()
        super()._tell(text, style)

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
    """Return a listener for stderr, to be entered before its first event and left before the result is printed."""
    return ProgressLines(console) if console.err.width is None or console.lines_only else ProgressBar(console)


@immutable
class ProgressState:
    """What is known of a run that goes on.

    Attributes:
        stage: the one that was heard of last; empty if none goes on.
        message: what it said when it began.
        begun: when it did, in seconds of any clock.
        done: units of it that are done.
        total: all of them; 0 where nobody counts.
        end: when all of a setup is expected to be done, by the same clock; 0 if unknown.
    """

    stage: str = ""
    message: str = ""
    begun: float = 0.0
    done: int = 0
    total: int = 0
    end: float = 0.0


def advance_state(state: ProgressState, event: Event, now: float) -> ProgressState:
    """Return the state after an event; none before a plan, after which somebody may be asked."""
    match event:
        case Started(stage="index" | "solve"):
            return ProgressState()
        case Started():
            return ProgressState(stage=event.stage, message=event.message, begun=now, end=state.end)
        case Progressed() if event.stage == state.stage and event.total:
            return replace(state, done=event.done, total=event.total)
        case Finished() if event.stage == state.stage:
            return ProgressState(end=state.end)
        case RemainingTime():
            return replace(state, end=now + event.seconds)
        case _:
            return state


def line_of(state: ProgressState, now: float, *, width: int = 80) -> str:
    """Return the state in at most `width` columns; a bar of ASCII only where units are counted and there is room."""
    facts = _describe_facts(state, now, "/")
    bar = ""
    if state.total and width >= len(facts) + _BAR * 2:
        bar = f" [{'#' * (_BAR * state.done // state.total):.<{_BAR}}]"
    room = max(width - len(facts) - len(bar) - 2, 8)
    work = state.message if len(state.message) <= room else state.message[: room - 3].rstrip() + "..."
    return f"{work}{bar}  {facts}"[:width]


def describe_state(state: ProgressState, now: float) -> str:
    """Return the state as a sentence, for those who hear it."""
    return f"still {state.message}, {_describe_facts(state, now, ' of ')}"


def _describe_facts(state: ProgressState, now: float, between: str) -> str:
    """Describe how much is done, how long it has taken, and until the estimate is used up what is left."""
    left = f" ({format_rough_duration(state.end - now)} left)" if state.end > now else ""
    so_far = f"{now - state.begun:.0f} s so far{left}"
    if not state.total:
        return so_far
    if state.stage == "download":
        return f"{state.done / _MEGABYTE:.0f}{between}{state.total / _MEGABYTE:.0f} MB, {so_far}"
    return f"{state.done}{between}{state.total}, {so_far}"
