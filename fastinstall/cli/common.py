"""What several verbs share: opening session and target, reading the request, printing the result."""

import math
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TypeVar

from fastinstall.cli.console import Page
from fastinstall.cli.main import Context
from fastinstall.cli.options import setting_of
from fastinstall.core import foreign
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import UsageError
from fastinstall.core.events import Event, Finished, Noted, Started
from fastinstall.core.messages import listing
from fastinstall.journal.layout import RECEIPT, TRANSACTIONS
from fastinstall.model.effect import Effect
from fastinstall.model.facts import Environment
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import Session, open_session

T = TypeVar("T")
_NAMED_PROGRAMS = 12


def tell(context: Context, name: str, value: T, render: Callable[[T, Page], str], effect: Effect | None = None) -> None:
    """Print a result on stdout: its document with --json, else its text, unless nothing was done and --quiet is given.

    Args:
        context: where to print.
        name: of the document.
        value: the result.
        render: gives its text.
        effect: what the run did to an environment; None if it only looked.
    """
    from fastinstall.core.codec import document, dump, encode  # noqa: PLC0415 (doctor has its own outlet)

    context.closing.close()  # ends the live progress line, before the result is printed
    console = context.console
    if console.json:
        did = encode(effect) if effect is not None else {}
        text = dump({**document(name, value), **did})
        if name == "plan":
            console.exact(text)  # `apply` compares it word by word, perhaps called in another way
        else:
            console.document(text)
        return
    if effect is None or effect.changed or not console.quiet:
        console.data(render(value, console.out))
    tell_restarts(effect, context)


def tell_restarts(effect: Effect | None, context: Context) -> None:
    """Say which running programs need a restart, if there are any."""
    if effect is not None and effect.restart and not context.console.json:
        named = listing((f"{each.pid} {each.name}" for each in effect.restart), most=_NAMED_PROGRAMS)
        context.console.talk(f"restart these programs, which still use the Pillow from before: {named}")


def measure_effect(before: object, prefix: PurePath, context: Context) -> Effect:
    """Return what this run did to an environment.

    Args:
        before: what `identify_state` said of it before.
        prefix: its root.
        context: the changes that were already reported count too.
    """
    from fastinstall.observe.running_programs import find_outdated_programs  # noqa: PLC0415 (only after a change)

    changed = bool(context.changes) or identify_state(prefix) != before
    return Effect(changed=changed, restart=find_outdated_programs(Path(prefix)) if changed else ())


def identify_state(prefix: PurePath) -> object:
    """Return what tells two states of an environment apart: its receipt, and its transactions."""
    receipt = foreign.bytes_or_empty(Path(prefix, RECEIPT))
    return receipt, sorted(each.name for each in Path(prefix).glob(f"{TRANSACTIONS}/*"))


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
    """Return session and target of a verb that changes nothing; report an interrupted run in it on stderr.

    Raises:
        FastinstallError: as `find_environment` says.
    """
    session = session_of(context)
    environment = find_environment(session, target_of(arguments))
    tell_interruptions(environment, context)
    return session, environment


def open_target_to_change(arguments: Namespace, context: Context) -> tuple[Session, Environment]:
    """Return session and target of a verb that changes it, after recovering from an interrupted run, or reporting it.

    Raises:
        FastinstallError: as `find_environment` and `recover_environment` say.
    """
    session = open_working_session(context)
    environment = find_environment(session, target_of(arguments))
    recover_or_report(session, environment, arguments, context)
    return session, environment


def tell_interruptions(environment: Environment, context: Context) -> None:
    """Report on stderr what an interrupted run left in an environment, with the command that recovers it."""
    from fastinstall.setup.recovery import describe_interruptions  # noqa: PLC0415 (doctor tells it in its report)

    for notice in describe_interruptions(environment):
        context.console.complain(f"warning: {notice}")


def recover_or_report(session: Session, environment: Environment, arguments: Namespace, context: Context) -> None:
    """Recover from an interrupted run, if --yes was given or a person can be asked; otherwise only report it.

    Verbs call it before they change an environment.

    Raises:
        FastinstallError: as `recover_environment` says.
    """
    if arguments.yes or (context.console.interactive and not context.console.json):
        from fastinstall.setup.recovery import recover_environment  # noqa: PLC0415 (doctor tells it in its report)

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


def refuse_without(arguments: Namespace, needed: str, flags: Iterable[str]) -> None:
    """Refuse flags that do nothing without another one; a setting or a variable may say them for other runs.

    Raises:
        UsageError: one of them was given alone on the command line.
    """
    if getattr(arguments, setting_of(needed)):
        return
    for flag in flags:
        if flag in arguments.given:
            raise UsageError(f"{flag} does nothing without {needed}", hint=f"give {needed} too, or leave {flag} out")


def read_max_age(arguments: Namespace, usual: float) -> float | None:
    """Return how old a document may be.

    Args:
        arguments: with --max-age.
        usual: days, where it was not given.

    Returns:
        Days; None for any age.
    """
    days = usual if arguments.max_age is None else arguments.max_age
    return days if days < math.inf else None


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
    session = replace(open_session(context.variables), program=context.program)
    return session.listening(lambda event: _log(context, event))


def open_working_session(context: Context) -> Session:
    """Return the session of a run that takes a while, whose events a person sees too."""
    return session_of(context).listening(progress_for(context))


def progress_for(context: Context) -> Callable[[Event], None]:
    """Return a listener that shows events on stderr: a bar on a terminal, lines elsewhere."""
    if context.console.quiet:
        return lambda event: _log(context, event)
    from fastinstall.cli.progress import progress_listener  # noqa: PLC0415 (doctor shows none)

    show = context.closing.enter_context(progress_listener(context.console))
    notes = set[str]()

    def listen(event: Event) -> None:
        if isinstance(event, Noted) and not event.changed:
            if event.message in notes:
                return
            notes.add(event.message)
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
