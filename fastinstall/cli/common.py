"""What several verbs share: the target from the flags, the session, consent, and events as they come."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from fastinstall.api.session import Session, open_session
from fastinstall.api.target import Target
from fastinstall.cli.main import Context
from fastinstall.cli.options import Settings, as_flags, load_settings, read_wish
from fastinstall.cli.render import plan_text
from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.event import Event, Finished, Noted, Progressed, Started
from fastinstall.model.plan import CreateEnvironment, Plan
from fastinstall.model.wish import Wish
from fastinstall.rules.messages import quote


def session_of(context: Context) -> Session:
    """The session of a run, whose events go to the log only."""
    session = open_session(context.variables)
    return session.listening(lambda event: _log(context, event))


def target_of(arguments: Namespace) -> Target:
    """What --prefix, --python and --new-env name.

    Raises:
        UsageError: two that exclude each other.
    """
    new = getattr(arguments, "new_env", None)
    if new and arguments.prefix:
        raise UsageError(
            "--new-env and --prefix exclude each other", hint="--new-env makes an environment, --prefix names one"
        )
    return Target(prefix=_path(arguments.prefix), python=_path(arguments.python), new=_path(new))


def wish_of(arguments: Namespace, context: Context, session: Session) -> Wish:
    """What flags, variables and settings ask for."""
    return read_wish(arguments, context.variables, settings_of(session))


def settings_of(session: Session) -> Settings:
    """./fastinstall.toml, else the one in the user's configuration directory."""
    return load_settings((Path("fastinstall.toml"), session.directories.config / "fastinstall.toml"))


def equivalent_command(plan: Plan, *, yes: bool = True) -> str:
    """The command line that asks for the same plan."""
    create = next((step for step in plan.steps if isinstance(step, CreateEnvironment)), None)
    if create is not None:
        target = ["--new-env", str(create.prefix), "--python", str(create.python)]
    else:
        target = ["--prefix", str(plan.environment.prefix)]
    words = ["fastinstall", "setup", *(["--yes"] if yes else []), *target, *as_flags(plan.wish)]
    return " ".join(quote(word) for word in words)


def refuse_unaccepted(plan: Plan) -> None:
    """Raise where a plan takes a risk that was not allowed by name.

    Raises:
        RefusedError: names each.
    """
    from fastinstall.rules.planner import unaccepted  # noqa: PLC0415 (doctor has no plan)

    risks = unaccepted(plan)
    if risks:
        allow = ",".join([*plan.wish.allow, *(hazard.risk for hazard in risks)])
        raise RefusedError(
            "; ".join(hazard.summary for hazard in risks),
            hint=f"accept it by name: --allow {allow}",
            details=tuple(item for hazard in risks for item in hazard.items),
        )


def consent(plan: Plan, arguments: Namespace, context: Context, command: str) -> None:
    """Raise unless --yes was given or a person agrees.

    Raises:
        RefusedError: nobody can be asked (exit 5), or the person declines.
    """
    if arguments.yes:
        refuse_unaccepted(plan)
        return
    refuse_without_yes(arguments, context, command)
    from fastinstall.cli.ask import confirmed  # noqa: PLC0415 (questionary, only for a person)

    context.console.talk(plan_text(plan, context.console))
    at_risk = any(not hazard.allowed for hazard in plan.hazards)
    if not confirmed("Proceed, and accept these risks?" if at_risk else "Proceed?"):
        raise RefusedError("declined; nothing was changed")


def refuse_without_yes(arguments: Namespace, context: Context, command: str) -> None:
    """Raise where nobody can be asked and --yes was not given.

    Raises:
        RefusedError: exit 5, with the command to paste.
    """
    if not arguments.yes and (not context.console.interactive or context.console.json):
        raise RefusedError("nobody can be asked here, and --yes was not given", hint=command)


def progress_for(context: Context) -> Callable[[Event], None]:
    """A listener that shows events on stderr: a bar on a terminal, lines elsewhere."""
    if context.console.quiet:
        return lambda event: _log(context, event)
    from fastinstall.cli.progress import progress_listener  # noqa: PLC0415 (rich, only where there is something to show)

    show = progress_listener(context.console)

    def listen(event: Event) -> None:
        _log(context, event)
        show(event)

    return listen


def _log(context: Context, event: Event) -> None:
    match event:
        case Started():
            context.log.write(f"{event.stage}: {event.message}")
        case Finished():
            context.log.write(f"{event.stage}: {event.message} ({event.seconds:.1f} s)")
        case Noted():
            context.log.write(event.message)
        case Progressed():
            return


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
