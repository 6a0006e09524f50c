"""`fastinstall rollback`: the state before a setup."""

from argparse import Namespace

from fastinstall.api.target import find
from fastinstall.api.undo import history, undo
from fastinstall.cli.common import session_of, target_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode, RefusedError, UsageError
from fastinstall.model.codec import dump
from fastinstall.model.wish import Risk
from fastinstall.rules.messages import quote


def run(arguments: Namespace, context: Context) -> int:
    """List what can be undone, or undo it."""
    session = session_of(context)
    environment = find(session, target_of(arguments))
    if arguments.list:
        return _list(context, history(environment))
    _consent(arguments, context, str(environment.prefix))
    lines = undo(session, environment, to=arguments.to, force=_forced(arguments.allow))
    if context.console.json:
        context.console.data(dump({"schema": "fastinstall.rollback/1", "done": list(lines)}))
    else:
        context.console.data("\n".join(lines))
    return ExitCode.OK


def _list(context: Context, entries: tuple[dict[str, str], ...]) -> int:
    if context.console.json:
        context.console.data(dump({"schema": "fastinstall.transactions/1", "transactions": list(entries)}))
    elif not entries:
        context.console.data("nothing to undo: fastinstall has set up nothing here")
    else:
        context.console.data("\n".join(f"{entry['id']}  {entry['state']:<9}  {entry['held']}" for entry in entries))
    return ExitCode.OK


def _consent(arguments: Namespace, context: Context, prefix: str) -> None:
    if arguments.yes:
        return
    command = f"fastinstall rollback --yes --prefix {quote(prefix)}"
    if not context.console.interactive or context.console.json:
        raise RefusedError("nobody can be asked here, and --yes was not given", hint=command)
    from fastinstall.cli.ask import confirmed  # noqa: PLC0415 (questionary, only for a person)

    if not confirmed(f"Put {prefix} back as it was before the last setup?"):
        raise RefusedError("declined; nothing was changed")


def _forced(allowed: str) -> bool:
    names = {name.strip() for name in allowed.split(",") if name.strip()}
    unknown = names - {str(risk) for risk in Risk}
    if unknown:
        raise UsageError(f"--allow {', '.join(sorted(unknown))}: unknown risk", hint=f"known: {', '.join(Risk)}")
    return Risk.FORCE_REMOVE in names
