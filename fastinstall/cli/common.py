"""What several verbs share: session and progress, target and request from the flags, and how a result is told."""

from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fastinstall.cli.console import Page
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_request, setting_of
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import UsageError
from fastinstall.core.events import Event, Finished, Noted, Started
from fastinstall.model.facts import Environment
from fastinstall.model.recipe import describe_renaming, find_current_name
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import Session, open_session

T = TypeVar("T")


def tell(context: Context, name: str, value: T, render: Callable[[T, Page], str]) -> None:
    """Print a result on stdout: its document with --json, else its text."""
    from fastinstall.core.codec import document, dump  # noqa: PLC0415 (doctor has its own outlet)

    context.closing.close()  # a line that is alive on the terminal goes first
    console = context.console
    console.data(dump(document(name, value)) if console.json else render(value, console.out))


def target_of(arguments: Namespace) -> NamedTarget:
    """Return what --prefix, --python and --new-env name.

    Raises:
        UsageError: two that exclude each other.
    """
    new = getattr(arguments, "new_env", None)
    if new and arguments.prefix:
        hint = "--new-env makes an environment, --prefix names one"
        raise UsageError("--new-env and --prefix exclude each other", hint=hint)
    prefix, python = parse_path(arguments.prefix), _find_interpreter(arguments.python)
    return NamedTarget(prefix=prefix, python=python, new=parse_path(new))


def open_target_to_read(arguments: Namespace, context: Context) -> tuple[Session, Environment]:
    """Return session and target of a verb that only looks; what a dead run left there is told on stderr, and stays.

    Raises:
        FastinstallError: as `find_environment` says.
    """
    session = session_of(context)
    environment = find_environment(session, target_of(arguments))
    tell_interruptions(environment, context)
    return session, environment


def open_target_to_change(arguments: Namespace, context: Context) -> tuple[Session, Environment]:
    """Return session and target of a verb that changes it, once what a dead run left is brought to its end, or told.

    Raises:
        FastinstallError: as `find_environment` and `recover_environment` say.
    """
    session = open_working_session(context)
    environment = find_environment(session, target_of(arguments))
    recover_or_report(session, environment, arguments, context)
    return session, environment


def tell_interruptions(environment: Environment, context: Context) -> None:
    """Say on stderr what a dead run left in an environment, with the command that mends it."""
    from fastinstall.apply.recovery import describe_interruptions  # noqa: PLC0415 (doctor tells it in its report)

    for notice in describe_interruptions(environment):
        context.console.complain(f"warning: {notice}")


def recover_or_report(session: Session, environment: Environment, arguments: Namespace, context: Context) -> None:
    """Bring to its end what a dead run left, if that is agreed to; verbs call it before they change an environment.

    It is where --yes was given, or where a person sits who is about to be asked; else it is told.

    Raises:
        FastinstallError: as `recover_environment` says.
    """
    if arguments.yes or (context.console.interactive and not context.console.json):
        from fastinstall.apply.recovery import recover_environment  # noqa: PLC0415 (likewise)

        recover_environment(session, environment)
    else:
        tell_interruptions(environment, context)


def refuse_together(arguments: Namespace, flag: str, others: Iterable[str]) -> None:
    """Refuse a flag beside others that make no sense with it.

    Raises:
        UsageError: one of them was given too.
    """
    if not getattr(arguments, setting_of(flag)):
        return
    for other in others:
        if getattr(arguments, setting_of(other), None):
            raise UsageError(f"{flag} and {other} exclude each other", hint=f"give one of the two, {flag} or {other}")


def make_request(arguments: Namespace, context: Context) -> Request:
    """Return what flags, variables and settings ask for; where they name a recipe by a former name, that is told."""
    request = read_request(arguments, context.sources)
    return replace(request, recipe=tell_renaming(request.recipe, context))


def tell_renaming(name: str, context: Context) -> str:
    """Say that a recipe was renamed, if it was; return today's name of it."""
    if renamed := describe_renaming(name):
        context.console.complain(f"note: {renamed}")
    return find_current_name(name)


def _find_interpreter(text: str | None) -> Path | None:
    """Return the path of an interpreter; a name without a slash is looked up on PATH, as a shell does."""
    if not text or "/" in text:
        return parse_path(text)
    import shutil  # noqa: PLC0415 (only for a bare name)

    return Path(shutil.which(text) or text)


def parse_path(text: str | None) -> Path | None:
    """Return the path that a flag has, with the home directory for "~"; None where the flag was not given."""
    return expand_home(text) if text else None


def session_of(context: Context) -> Session:
    """Return the session of a run, whose events go to the log only."""
    return open_session(context.variables).listening(lambda event: _log(context, event))


def open_working_session(context: Context) -> Session:
    """Return the session of a run that takes a while, whose events a person sees too."""
    return session_of(context).listening(progress_for(context))


def progress_for(context: Context) -> Callable[[Event], None]:
    """Return a listener that shows events on stderr: a bar on a terminal, lines elsewhere."""
    if context.console.quiet:
        return lambda event: _log(context, event)
    from fastinstall.cli.progress import progress_listener  # noqa: PLC0415 (doctor shows none)

    show = context.closing.enter_context(progress_listener(context.console))

    def listen(event: Event) -> None:
        _log(context, event, shown=not context.console.json)
        show(event)

    return listen


def _log(context: Context, event: Event, *, shown: bool = False) -> None:
    match event:
        case Started():
            context.log.write(f"{event.stage}: {event.message}")
        case Finished():
            context.log.write(f"{event.stage}: {event.message} ({event.seconds:.1f} s)")
        case Noted():
            context.log.write(event.message)
            if event.changed:
                context.changes[event.message] = shown or context.changes.get(event.message, False)
