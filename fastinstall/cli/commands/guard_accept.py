"""`fastinstall guard accept`: the Pillow that has taken the stack's place stays, and fastinstall withdraws."""

from argparse import Namespace

from fastinstall.api.accepting import Replacement, accept, replacement_of
from fastinstall.api.late import done_already
from fastinstall.api.target import find
from fastinstall.cli.common import mend_or_tell, progress_for, session_of, target_of
from fastinstall.cli.consent import agree
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.codec import dump
from fastinstall.model.environment import Environment
from fastinstall.rules.messages import quote

_WHAT_GOES = "the guards, the pins and the record of the setup go; PIL stays as it is"


def run(arguments: Namespace, context: Context) -> int:
    """Accept what is in place, once that is agreed to."""
    session = session_of(context).listening(progress_for(context))
    environment = find(session, target_of(arguments))
    mend_or_tell(session, environment, arguments, context)
    found = replacement_of(session, environment)
    if found is not None:
        context.console.talk(f"{found.story}\nif that is accepted, {_WHAT_GOES}")
        command = f"fastinstall guard accept --yes --prefix {quote(environment.prefix)}"
        agree(f"Accept what is in {environment.prefix} now?", arguments, context.console, command)
        found = accept(session, environment)
    with done_already(environment.prefix, "guard accept"):
        _tell(found, environment, context)
    return ExitCode.OK


def _tell(accepted: Replacement | None, environment: Environment, context: Context) -> None:
    if context.console.json:
        story = accepted.story if accepted is not None else ""
        context.console.data(dump({"schema": "fastinstall.accepted/1", "accepted": story}))
        return
    prefix = quote(environment.prefix)
    if accepted is None:
        lines = [f"nothing to accept: nothing has taken the place of a stack of ours in {prefix}"]
    else:
        lines = [
            f"accepted: what is in {prefix} now; no guard and no record of {accepted.ours} is left",
            f"the fast stack again: fastinstall setup --prefix {prefix}",
            f"undo: fastinstall rollback --prefix {prefix}",
        ]
    context.console.data("\n".join(lines))
