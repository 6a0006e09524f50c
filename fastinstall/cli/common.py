"""Functions that the verbs share: they open sessions and targets, check flags, and print results and progress."""

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
from fastinstall.model.facts import Environment
from fastinstall.model.results import Effect
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import Session, open_session

T = TypeVar("T")
_NAMED_PROGRAMS = 12


def tell(context: Context, name: str, value: T, render: Callable[[T, Page], str], effect: Effect | None = None) -> None:
    """Print a result on stdout: as a JSON document with --json, else as text.

    With --quiet, the text is omitted if the command can change an environment, but changed nothing this time.

    Args:
        context: the context of this run, with the console.
        name: the name of the JSON document.
        value: the result.
        render: formats the result as text.
        effect: what the run changed; None for a command that never changes anything.
    """
    from fastinstall.core.codec import document, dump, encode  # doctor prints its report without this import

    context.closing.close()  # ends the live progress line before the result is printed
    console = context.console
    if console.json:
        did = encode(effect) if effect is not None else {}
        text = dump({**document(name, value), **did})
        if name == "plan":
            console.exact(text)  # prints the plan unchanged, because `apply` compares it literally
        else:
            console.document(text)
        return
    if effect is None or effect.changed or not console.quiet:
        console.data(render(value, console.out))
    tell_restarts(effect, context)


def tell_restarts(effect: Effect | None, context: Context) -> None:
    """Print on stderr which running programs must be restarted because they still use the previous Pillow, if any."""
    if effect is not None and effect.restart and not context.console.json:
        named = listing((f"{each.pid} {each.name}" for each in effect.restart), most=_NAMED_PROGRAMS)
        context.console.talk(f"restart these programs, which still use the previous Pillow: {named}")


def measure_effect(before: object, prefix: PurePath, context: Context) -> Effect:
    """Return what this run changed in an environment.

    Args:
        before: the state of the environment before the run, from `identify_state`.
        prefix: the root of the environment.
        context: the context of this run; changes recorded in it count, too.
    """
    from fastinstall.observe.running_programs import find_outdated_programs  # only after a change

    changed = bool(context.changes) or identify_state(prefix) != before
    return Effect(changed=changed, restart=find_outdated_programs(Path(prefix)) if changed else ())


def identify_state(prefix: PurePath) -> object:
    """Return an environment's receipt and transaction IDs: a value that every change by fastinstall alters."""
    receipt = foreign.bytes_or_empty(Path(prefix, RECEIPT))
    return receipt, sorted(each.name for each in Path(prefix).glob(f"{TRANSACTIONS}/*"))


def target_of(arguments: Namespace) -> NamedTarget:
    """Return the target that --prefix, --python and --new-env name.

    Raises:
        UsageError: both --new-env and --prefix were given.
    """
    new = getattr(arguments, "new_env", None)
    if new and arguments.prefix:
        hint = "--new-env makes an environment, --prefix names one"
        raise UsageError("--new-env and --prefix cannot be combined", hint=hint)
    python = arguments.python
    if python and "/" not in python:  # a bare name is looked up on PATH, as in a shell
        import shutil  # only for a bare name

        python = shutil.which(python) or python
    return NamedTarget(prefix=parse_path(arguments.prefix), python=parse_path(python), new=parse_path(new))


def open_target_to_read(arguments: Namespace, context: Context) -> tuple[Session, Environment]:
    """Return a session and the target, for a verb that changes nothing; report interrupted runs in the target.

    Raises:
        FastinstallError: raised by `find_environment`.
    """
    session = session_of(context)
    environment = find_environment(session, target_of(arguments))
    tell_interruptions(environment, context)
    return session, environment


def open_target_to_change(arguments: Namespace, context: Context) -> tuple[Session, Environment]:
    """Run `recover_or_report` on the target, then return a session and the target, for a verb that changes it.

    Raises:
        FastinstallError: raised by `find_environment` or `recover_environment`.
    """
    session = open_working_session(context)
    environment = find_environment(session, target_of(arguments))
    recover_or_report(session, environment, arguments, context)
    return session, environment


def tell_interruptions(environment: Environment, context: Context) -> None:
    """Report on stderr each interrupted run in an environment, with the command that recovers from it."""
    from fastinstall.setup.recovery import describe_interruptions  # doctor does not need this import

    for notice in describe_interruptions(environment):
        context.console.complain(f"warning: {notice}")


def recover_or_report(session: Session, environment: Environment, arguments: Namespace, context: Context) -> None:
    """Recover from an interrupted run if --yes was given or a person can be asked; otherwise, only report that run.

    Verbs call this before they change an environment.

    Raises:
        FastinstallError: raised by `recover_environment`.
    """
    if arguments.yes or (context.console.interactive and not context.console.json):
        from fastinstall.setup.recovery import recover_environment  # doctor does not need this import

        recover_environment(session, environment)
    else:
        tell_interruptions(environment, context)


def refuse_together(arguments: Namespace, flag: str, others: Iterable[str]) -> None:
    """Refuse a flag if another flag that contradicts it was given, too.

    Raises:
        UsageError: both `flag` and one of `others` were given.
    """
    if not getattr(arguments, setting_of(flag)):
        return
    for other in others:
        if getattr(arguments, setting_of(other), None):
            raise UsageError(f"{flag} and {other} cannot be combined", hint=f"give one of the two, {flag} or {other}")


def refuse_without(arguments: Namespace, needed: str, flags: Iterable[str]) -> None:
    """Refuse flags that do nothing without the flag `needed`.

    Only the command line is checked: settings and variables may set such a flag for other runs.

    Raises:
        UsageError: one of `flags` was given without `needed`.
    """
    if getattr(arguments, setting_of(needed)):
        return
    for flag in flags:
        if flag in arguments.given:
            raise UsageError(f"{flag} does nothing without {needed}", hint=f"give {needed} too, or leave {flag} out")


def parse_path(text: str | None) -> Path | None:
    """Return the path given by a flag, with "~" expanded; None if the flag was not given."""
    return expand_home(text) if text else None


def session_of(context: Context) -> Session:
    """Return a session whose events go only to the log."""
    session = replace(open_session(context.sources.variables), program=context.program)
    return session.listening(lambda event: _log(context, event))


def open_working_session(context: Context) -> Session:
    """Return a session for longer work, whose events go to the log and to stderr."""
    return session_of(context).listening(progress_for(context))


def progress_for(context: Context) -> Callable[[Event], None]:
    """Return a listener that logs events and, without --quiet, shows them on stderr."""
    if context.console.quiet:
        return lambda event: _log(context, event)
    from fastinstall.cli.progress import progress_listener  # not needed by doctor without --fix

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
