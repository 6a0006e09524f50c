"""Events as a person sees them: a bar with remaining time on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from fastinstall.cli.console import Console
from fastinstall.model.event import Event, Finished, Noted, Progressed, Started

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


def progress_listener(console: Console) -> Callable[[Event], None]:
    """A listener for stderr."""
    if sys.stderr.isatty() and console.colour:
        return _Bar(console)
    return lambda event: _line(event, console)


def _line(event: Event, console: Console) -> None:
    match event:
        case Started():
            console.talk(event.message)
        case Finished():
            console.talk(f"{event.message} ({event.seconds:.1f} s)")
        case Noted():
            console.talk(("warning: " if event.warning else "") + event.message)
        case Progressed():
            return


class _Bar:
    """One bar, for the stage that is going on; ends with the stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""

    def __call__(self, event: Event) -> None:
        match event:
            case Progressed():
                self._advance(event)
            case Started() | Finished() | Noted():
                self._stop()
                _line(event, self._console)

    def _advance(self, event: Progressed) -> None:
        if self._stage != event.stage:
            self._stop()
            self._start(event)
        if self._live is not None and self._task is not None:
            self._live.update(self._task, completed=event.done, total=event.total or None)
        if event.total and event.done >= event.total:
            self._stop()

    def _start(self, event: Progressed) -> None:
        from rich.console import Console as RichConsole  # noqa: PLC0415 (only where a bar is shown)
        from rich.progress import Progress  # noqa: PLC0415

        self._live = Progress(console=RichConsole(stderr=True), transient=True)
        self._live.start()
        self._task = self._live.add_task(event.stage, total=event.total or None)
        self._stage = event.stage

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._stage = ""
