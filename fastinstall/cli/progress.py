"""Events as a person sees them: a bar with remaining time on a terminal, plain lines elsewhere."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from fastinstall.cli.console import Console
from fastinstall.model.event import Event, Finished, Noted, Progressed, Started

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


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
            case Progressed():
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


class ProgressBar(ProgressLines):
    """Lines, and below them one bar while the units of a stage are counted."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Progressed):
            self._advance(event)
        else:
            self._stop()
            super().__call__(event)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away, and show the cursor again."""
        self._stop()

    def _advance(self, event: Progressed) -> None:
        if not event.total or event.done >= event.total:
            self._stop()
            return
        if self._live is None or self._stage != event.stage:
            self._stop()
            self._start(event)
        if self._live is not None and self._task is not None:
            self._live.update(self._task, completed=event.done)

    def _start(self, event: Progressed) -> None:
        from rich.console import Console as RichConsole  # noqa: PLC0415 (only where a bar is shown)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        page = self._console.err
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        terminal = RichConsole(stderr=True, no_color=not page.colour, width=page.width)
        self._live = Progress(*columns, console=terminal, transient=True)
        self._live.start()
        self._task = self._live.add_task(event.stage, total=event.total)
        self._stage = event.stage

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._stage = ""


def progress_listener(console: Console) -> ProgressLines:
    """A listener for stderr, to be entered before its first event and left after its last."""
    bar = console.err.width is not None and not console.lines_only
    return ProgressBar(console) if bar else ProgressLines(console)
