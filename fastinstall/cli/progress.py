"""Show the progress of a run on stderr: in one live line on a terminal, otherwise in plain lines.

The live line shows the current task, how much of it is done, and the elapsed time. Plain lines are for terminals that
cannot update a line, and for screen readers; from time to time, a plain line shows what the live line would show.
"""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from fastinstall.cli.console import Console
from fastinstall.cli.questions import fit
from fastinstall.core.events import Event, Finished, Noted, Progressed, Started
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_PATIENCE = 10.0
_FRAMES = 4
_MEGABYTE = 1_000_000
_TITLES = {
    "headers": "fetching",
    "toolchain": "fetching",
    "download": "fetching",
    "library": "compiling libraries",
    "compile": "compiling Pillow",
    "bundle": "assembling the wheel",
    "prove": "comparing pixels",
    "stage": "testing the build",
    "swap": "installing and checking",
    "verify": "installing and checking",
}
"""Stage to its title, if the stage's own message has too many details. Stages of one phase share a title."""


class ProgressLines:
    """Prints a line when a stage begins, and a status line after a while without news.

    Args:
        console: prints the lines.
        patience: seconds without news before the first status line. Each status line doubles the time before the next,
            so that a slow run prints a few more lines, not a page.
    """

    def __init__(self, console: Console, patience: float = _PATIENCE) -> None:
        self._console = console
        self._patience = patience
        self._state = ProgressState()
        self._told = ""
        self._lock = threading.RLock()
        self._news = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = advance_state(self._state, event, time.monotonic())
            if not isinstance(event, Started) or not self._state.stage or self._console.verbose:
                self._tell_lasting(event)
            elif self._state.title != self._told:  # one line for each phase is enough
                self._told = self._state.title
                self._tell(self._told)
        if self._thread is None and self._state.stage:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __enter__(self) -> Self:
        """Return this listener."""
        return self

    def __exit__(self, *_failure: object) -> None:
        """Stop showing progress."""
        self._over = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _tell_lasting(self, event: Event) -> None:
        """Print an event that should stay visible: a warning, a note, or with --verbose the start or end of a stage."""
        verbose = self._console.verbose
        match event:
            case Started() if verbose or not self._state.stage:  # stages of planning have no live line
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
                    self._tell(f"still {describe_state(self._state, time.monotonic())}")
                    self._news.clear()

    def _tell(self, text: str, style: str = "") -> None:
        self._news.set()
        self._console.talk("\n".join(self._console.err.lines(text, rest="  ", style=style)))


class ProgressLine(ProgressLines):
    """Prints warnings and notes as lines that stay, and below them a live line while a stage is in progress."""

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
        """Remove the live line, and show the cursor again."""
        with self._lock:
            self._stop()

    def _tell(self, text: str, style: str = "") -> None:
        self._stop()
        super()._tell(text, style)

    def _start(self) -> None:
        from rich.console import Console as RichConsole  # only for a live line
        from rich.live import Live

        # No width is given, so that rich asks the terminal for it again after a resize.
        self._live = Live(
            get_renderable=self._render_line,
            console=RichConsole(stderr=True, no_color=not self._console.err.colour, highlight=False),
            transient=True,
            refresh_per_second=_FRAMES,
            redirect_stdout=False,  # rich would wrap results to the width of the terminal
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def _render_line(self) -> "Text":
        from rich.text import Text

        if not self._state.stage:  # rich draws once more, after the last stage, when the line is removed
            return Text()
        width = (self._console.err.width or 80) - 1
        text = fit(describe_state(self._state, time.monotonic(), width), self._console.known)
        return Text(text, no_wrap=True, overflow="crop")

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def progress_listener(console: Console) -> ProgressLines:
    """Return a listener that shows events on stderr.

    The listener is a context manager: enter it before the first event, and leave it before the result is printed.
    """
    return ProgressLines(console) if console.err.width is None or console.lines_only else ProgressLine(console)


@immutable
class ProgressState:
    """The stage in progress. Times are in seconds of one clock, such as `time.monotonic`.

    Attributes:
        stage: the stage that began last; empty if none is in progress.
        title: the task of the stage, for the user.
        begun: the time at which the first stage with this title began.
        done: completed units of the stage, or downloaded bytes of a file.
        total: number of all units or bytes; 0 if unknown.
        is_download: whether `done` and `total` are bytes.
    """

    stage: str = ""
    title: str = ""
    begun: float = 0.0
    done: int = 0
    total: int = 0
    is_download: bool = False


def advance_state(state: ProgressState, event: Event, now: float) -> ProgressState:
    """Return the state after an event. During planning the state is empty, because a question may follow."""
    match event:
        case Started(stage="index" | "solve"):
            return ProgressState()
        case Started():
            title = _TITLES.get(event.stage, event.message)
            return ProgressState(stage=event.stage, title=title, begun=state.begun if title == state.title else now)
        case Progressed() if state.stage and event.total:
            is_download = event.stage == "download"
            if event.stage == state.stage or (is_download and (state.is_download or not state.total)):
                return replace(state, done=event.done, total=event.total, is_download=is_download)
        case Finished() if event.stage == state.stage:
            return ProgressState()
    return state


def describe_state(state: ProgressState, now: float, width: int | None = None) -> str:
    """Return title, progress and elapsed time in one line; a long title is cut to fit into `width` columns."""
    title, facts = state.title, f", {now - state.begun:.0f} s so far"
    if state.is_download:
        facts = f", {state.done / _MEGABYTE:.0f} of {state.total / _MEGABYTE:.0f} MB{facts}"
    elif state.total:
        facts = f", {state.done} of {state.total}{facts}"
    if width is not None and len(title + facts) > width:
        title = f"{title[: max(width - len(facts) - 3, 0)].rstrip()}..."
    return title + facts
