"""What is heard of a run: its events, in the log and on stderr."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastinstall.cli.main import Context
from fastinstall.observe.session import Session, open_session

if TYPE_CHECKING:
    from fastinstall.core.events import Event


def session_of(context: Context) -> Session:
    """Return the session of a run, whose events go to the log only."""
    session = open_session(context.variables)
    return session.listening(lambda event: _log(context, event))


def progress_for(context: Context) -> Callable[["Event"], None]:
    """Return a listener that shows events on stderr: a bar on a terminal, lines elsewhere."""
    if context.console.quiet:
        return lambda event: _log(context, event)
    from fastinstall.cli.progress import progress_listener  # noqa: PLC0415 (doctor shows none)

    show = context.closing.enter_context(progress_listener(context.console))

    def listen(event: "Event") -> None:
        _log(context, event, shown=not context.console.json)
        show(event)

    return listen


def _log(context: Context, event: "Event", *, shown: bool = False) -> None:
    from fastinstall.core.events import Finished, Noted, Progressed, Started  # noqa: PLC0415 (once there is one)

    match event:
        case Started():
            context.log.write(f"{event.stage}: {event.message}")
        case Finished():
            context.log.write(f"{event.stage}: {event.message} ({event.seconds:.1f} s)")
        case Noted():
            context.log.write(event.message)
            if event.changed:
                context.changes[event.message] = shown or context.changes.get(event.message, False)
        case Progressed():
            return
