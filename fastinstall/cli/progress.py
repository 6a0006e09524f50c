"""Events as a person sees them: one live line on a terminal, plain lines elsewhere.

The line of a setup is one bar for all of it, with an estimate of what is left that follows what was measured so far.
Other runs show what is being done, and for how long. A terminal that knows only lines, or a screen reader, gets the
state as a line every so often.
"""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from fastinstall.cli.console import Console
from fastinstall.cli.questions import fit
from fastinstall.core.events import Event, Expected, ExpectedPhase, Finished, Noted, Progressed, Started
from fastinstall.core.messages import format_rough_duration
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_PATIENCE = 10.0
_FRAMES = 4
_BAR = 20
_WIDE = 70
"""Columns from which on the bar is drawn in full length."""
_MEGABYTE = 1_000_000
_TRUST = 8.0
"""Seconds of work after which what was measured weighs as much as the estimate."""
_LEAST = 0.05
"""The share of its expected time that a phase is taken to need still, however long it has lasted."""


class ProgressLines:
    """Prints a line when a stage begins, and a status line after a while without news.

    Args:
        console: prints the lines.
        patience: seconds without news before a status line. Each status line doubles it until the end of the run, so
            that a slow machine gets a few lines more, not a page.
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
            self._show(event)
        if self._thread is None and self._state.is_at_work:
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
        elif self._console.verbose or not self._state.phases:
            self._tell(event.message)
        elif (title := self._state.phases[self._state.phase].title) != self._told:  # one line for each phase is enough
            self._told = title
            self._tell(title)

    def _tell_lasting(self, event: Event) -> None:
        """Print what stays to be read when the work is over."""
        verbose = self._console.verbose
        match event:
            case Started() if verbose or not self._state.is_at_work:  # without a live line
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
                if not heard and self._state.is_at_work:
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
        self._shown = 0.0  # the share that the bar has shown; only the thread that draws it writes it

    def __call__(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            self._state = advance_state(self._state, event, time.monotonic())
            self._tell_lasting(event)
            if not self._state.is_at_work:
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
        terminal = RichConsole(stderr=True, no_color=not page.colour, highlight=False)  # which asks for its width
        self._live = Live(
            get_renderable=self._render_line,
            console=terminal,
            transient=True,
            refresh_per_second=_FRAMES,
            redirect_stdout=False,  # rich would wrap results to the width of the terminal
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def _render_line(self) -> "Text":
        from rich.text import Text  # noqa: PLC0415

        width, now = (self._console.err.width or 80) - 1, time.monotonic()
        state = replace(self._state, shown=max(self._state.shown, self._shown))
        self._shown = estimate_share(state, now) if state.phases else 0.0
        text = fit(line_of(state, now, width=width), self._console.known)
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
    """What is known of a run that goes on. Times are in seconds of any one clock.

    Attributes:
        stage: the one that was heard of last; empty if none goes on.
        message: what it said when it began.
        begun: when it did.
        done: units of it that are done, or bytes that are downloaded.
        total: all of them; 0 where nobody counts.
        phases: of the whole run, if they are known.
        phase: the number of the one that goes on.
        run_begun: when the run began.
        phase_begun: when this phase began.
        worked: seconds that the phases before it took, without downloads.
        expected: seconds that these were expected to take.
        file_bytes: bytes of the file that is being downloaded, as far as it has come.
        shown: the share of the run that was shown as done; it never falls.
    """

    stage: str = ""
    message: str = ""
    begun: float = 0.0
    done: int = 0
    total: int = 0
    phases: tuple[ExpectedPhase, ...] = ()
    phase: int = 0
    run_begun: float = 0.0
    phase_begun: float = 0.0
    worked: float = 0.0
    expected: float = 0.0
    file_bytes: int = 0
    shown: float = 0.0

    @property
    def is_at_work(self) -> bool:
        """Whether there is something to show: between the stages of a known run, too."""
        return bool(self.stage or self.phases)


def advance_state(state: ProgressState, event: Event, now: float) -> ProgressState:
    """Return the state after an event; none before a plan, after which somebody may be asked."""
    state = replace(state, shown=estimate_share(state, now)) if state.phases else state
    match event:
        case Expected():
            state = ProgressState(phases=event.phases, run_begun=now, phase_begun=now)
        case Started(stage="index" | "solve"):
            state = ProgressState()
        case Started():
            entered = _enter_phase(state, event.stage, now)
            state = replace(entered, stage=event.stage, message=event.message, begun=now)
        case Progressed(stage="download") if state.phases:
            state = _count_bytes(state, event.done)
        case Progressed() if event.stage == state.stage and event.total:
            state = replace(state, done=event.done, total=event.total)
        case Finished() if event.stage == state.stage:
            ended = replace(state, stage="", message="", begun=now)
            state = ended if state.phases else replace(ended, done=0, total=0)
    return state


def _enter_phase(state: ProgressState, stage: str, now: float) -> ProgressState:
    """Return the state in the phase that a stage begins; a run never goes back to an earlier one."""
    later = range(state.phase, len(state.phases))
    phase = next((number for number in later if stage in state.phases[number].stages), state.phase)
    if phase == state.phase:  # a stage within it, which may count other units
        return state if state.phases and state.phases[phase].download_bytes else replace(state, done=0, total=0)
    left = state.phases[state.phase]
    if not left.download_bytes:
        worked, expected = state.worked + now - state.phase_begun, state.expected + left.seconds
        state = replace(state, worked=worked, expected=expected)
    return replace(state, phase=phase, phase_begun=now, done=0, total=0)


def _count_bytes(state: ProgressState, file_bytes: int) -> ProgressState:
    """Return the state after a part of a file was downloaded; the next file begins with fewer bytes."""
    whole = state.phases[state.phase].download_bytes
    if not whole:
        return state
    more = file_bytes - state.file_bytes if file_bytes >= state.file_bytes else file_bytes
    done = min(state.done + more, whole)
    return replace(state, done=done, total=whole, file_bytes=file_bytes)


def estimate_remaining_seconds(state: ProgressState, now: float) -> float:
    """Estimate how long the rest of a run takes, from its estimate and how fast the work has been so far."""
    phase, spent = state.phases[state.phase], now - state.phase_begun
    is_counted = bool(state.total) and phase.is_even
    share = min(state.done / state.total, 1.0) if is_counted else 0.0
    worked, expected = state.worked, state.expected
    if not phase.download_bytes:
        # Uncounted work is taken to be on schedule, until it takes longer than expected.
        done = phase.seconds * share if is_counted else min(spent, phase.seconds)
        worked, expected = worked + spent, expected + done
    slowness = (worked + _TRUST) / (expected + _TRUST)
    if phase.download_bytes:
        left = max(phase.seconds - spent, spent / share * (1 - share) if share else 0.0)
    elif is_counted:
        left = phase.seconds * (1 - share) * slowness
    else:
        left = phase.seconds * slowness - spent
    later = sum(each.seconds for each in state.phases[state.phase + 1 :])
    return max(left, phase.seconds * _LEAST) + later * slowness


def estimate_share(state: ProgressState, now: float) -> float:
    """Estimate the share of a run that is done, from 0 to 1; it never falls."""
    elapsed = now - state.run_begun
    return max(state.shown, elapsed / (elapsed + estimate_remaining_seconds(state, now)))


def line_of(state: ProgressState, now: float, *, width: int = 80) -> str:
    """Return the state in at most `width` columns, in ASCII: a bar for a known run, and else what goes on."""
    if state.phases:
        room, share = _BAR if width >= _WIDE else _BAR // 2, estimate_share(state, now)
        bar = f"[{'#' * int(room * share):.<{room}}] {min(int(100 * share), 99):>2} %"
        left = format_rough_duration(estimate_remaining_seconds(state, now))
        return f"{bar}, {left} left: {_describe_phase(state, '/')}"[:width]
    facts, bar = _describe_facts(state, now, "/"), ""
    if state.total and width >= len(facts) + _BAR * 2:
        bar = f" [{'#' * (_BAR * state.done // state.total):.<{_BAR}}]"
    room = max(width - len(facts) - len(bar) - 2, 8)
    work = state.message if len(state.message) <= room else state.message[: room - 3].rstrip() + "..."
    return f"{work}{bar}  {facts}"[:width]


def describe_state(state: ProgressState, now: float) -> str:
    """Return the state as a sentence, for those who hear it."""
    if state.phases:
        left = format_rough_duration(estimate_remaining_seconds(state, now))
        return f"still {_describe_phase(state, ' of ')}; {left} left"
    return f"still {state.message}, {_describe_facts(state, now, ' of ')}"


def _describe_phase(state: ProgressState, between: str) -> str:
    """Return what a phase does, and how much of it is done."""
    phase = state.phases[state.phase]
    counted = f", {_describe_units(state, between)}" if state.total else ""
    return f"{phase.title}{counted}"


def _describe_facts(state: ProgressState, now: float, between: str) -> str:
    """Describe how much of a stage is done, and how long it has taken."""
    so_far = f"{now - state.begun:.0f} s so far"
    return f"{_describe_units(state, between)}, {so_far}" if state.total else so_far


def _describe_units(state: ProgressState, between: str) -> str:
    is_download = state.phases[state.phase].download_bytes if state.phases else state.stage == "download"
    if is_download:
        return f"{state.done / _MEGABYTE:.0f}{between}{state.total / _MEGABYTE:.0f} MB"
    return f"{state.done}{between}{state.total}"
