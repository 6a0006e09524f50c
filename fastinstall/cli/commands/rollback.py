"""`fastinstall rollback`: the state before a setup."""

from argparse import Namespace

from fastinstall.api.target import find
from fastinstall.api.undo import history, undo
from fastinstall.cli.common import session_of, target_of
from fastinstall.cli.consent import agree
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_allowed
from fastinstall.errors import ExitCode
from fastinstall.model.codec import dump
from fastinstall.model.wish import Risk
from fastinstall.rules.messages import quote


def run(arguments: Namespace, context: Context) -> int:
    """List what can be undone, or undo it."""
    session = session_of(context)
    environment = find(session, target_of(arguments))
    if arguments.list:
        return _list(context, history(environment))
    allowed = read_allowed(arguments, context.sources)
    command = f"fastinstall rollback --yes --prefix {quote(environment.prefix)}"
    agree(f"Put {environment.prefix} back as it was before the last setup?", arguments, context.console, command)
    lines = undo(session, environment, to=arguments.to, force=Risk.FORCE_REMOVE in allowed)
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
