"""Events as a person sees them: a live line with remaining time on a terminal, plain lines elsewhere.

Where a terminal knows only lines, or a screen reader reads them, a line tells every so often how it stands.
"""

import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fastinstall.cli.ask import fit
from fastinstall.cli.console import Console
from fastinstall.cli.progress_line import State, heard, line_of, said
from fastinstall.model.event import Event, Finished, Foretold, Noted, Progressed, Started

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
            case Progressed() | Foretold():
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
        self._state = State()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = heard(self._state, event, time.monotonic())
            super().__call__(event)
        if not isinstance(event, Progressed | Foretold):
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
                    self._tell(said(self._state, time.monotonic()))


class ProgressBar(ProgressLines):
    """Lines, and below them one that is alive while something goes on whose end can be told."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._state = State()
        self._live: Live | None = None
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = heard(self._state, event, time.monotonic())
            if not isinstance(event, Progressed | Foretold):
                self._stop()
                super().__call__(event)
            self._show()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away, and show the cursor again."""
        with self._lock:
            self._state = State()
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
            get_renderable=self._line,
            console=terminal,
            transient=True,
            refresh_per_second=_FRAMES,
            redirect_stdout=False,  # results are never laid out anew
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def _line(self) -> "Text":
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
