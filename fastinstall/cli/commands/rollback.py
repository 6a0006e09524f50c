"""`fastinstall rollback`: undo setups, list those that can be undone, or forget old ones to free disk space."""

from argparse import Namespace

from fastinstall.cli.common import (
    identify_state,
    measure_effect,
    open_target_to_read,
    progress_for,
    recover_or_report,
    refuse_together,
    session_of,
    target_of,
    tell,
)
from fastinstall.cli.consent import agree
from fastinstall.cli.console import Page
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_allowed
from fastinstall.cli.parser import EVERYTHING
from fastinstall.core.errors import ExitCode
from fastinstall.core.messages import format_bytes, quote, recover_command
from fastinstall.model.facts import Environment
from fastinstall.model.history import Phase
from fastinstall.model.request import Risk
from fastinstall.model.results import Done
from fastinstall.observe.environments import find_environment
from fastinstall.observe.session import Session
from fastinstall.setup.recovery import report_interruption_after_completion
from fastinstall.verbs.history import Transactions, forget_in, history, list_forgettable_history
from fastinstall.verbs.rollback import end_interrupted_run, list_rollback_notices, roll_back

_ALONE = ("--list", "--to", "--forget", "--interrupted")


def run(arguments: Namespace, context: Context) -> int:
    """List the setups that can be undone, undo setups, forget old ones, or recover from an interrupted run."""
    for flag in ("--list", "--forget", "--interrupted"):
        refuse_together(arguments, flag, (other for other in _ALONE if other != flag))
    if arguments.list:
        _session, environment = open_target_to_read(arguments, context)
        tell(context, "transactions", history(environment), history_text)
        return ExitCode.OK
    session = session_of(context)
    environment = find_environment(session, target_of(arguments))
    prefix, before = environment.prefix, identify_state(environment.prefix)
    if arguments.forget:
        return _forget(session, environment, arguments, context)
    force = Risk.FORCE_REMOVE in read_allowed(arguments, context.sources)
    if arguments.interrupted:
        agree(f"Recover from the interrupted run in {prefix}?", arguments, context.console, recover_command(prefix))
        ended = Done(done=end_interrupted_run(session, environment, force=force))
        tell(context, "rollback", ended, _join, measure_effect(before, prefix, context))
        return ExitCode.OK
    back = f"--to {arguments.to} " if arguments.to else ""
    command = f"fastinstall rollback {back}--yes --prefix {quote(prefix)}"
    for notice in list_rollback_notices(environment, arguments.to):
        context.console.complain(f"warning: {notice}")
    agree(
        f"Put {prefix} back as it was before {arguments.to or 'the last setup'}?", arguments, context.console, command
    )
    lines = roll_back(session, environment, to=arguments.to, force=force)
    with report_interruption_after_completion(prefix, "rollback"):
        tell(context, "rollback", Done(done=lines), _join, measure_effect(before, prefix, context))
    return ExitCode.OK


def _forget(session: Session, environment: Environment, arguments: Namespace, context: Context) -> int:
    """Show the transactions that will be forgotten, ask for consent, and forget them."""
    identifier = None if arguments.forget == EVERYTHING else arguments.forget
    before = identify_state(environment.prefix)
    recover_or_report(session.listening(progress_for(context)), environment, arguments, context)
    coming = list_forgettable_history(environment, identifier)
    if coming.transactions:
        newest = coming.transactions[0].id
        lines = [f"to be forgotten: {each.id}  {each.held}  {each.title}" for each in coming.transactions]
        freed = f"frees {format_bytes(coming.held_bytes)}; the environment stays as it is"
        lines.append(f"{freed}, but {newest} and older setups can no longer be undone")
        question = "Forget these setups?"
        if coming.transactions[0].state is Phase.DAMAGED:
            question = "Move them aside?"
            lines = [f"{newest} cannot be read: its files are moved to kept/, not deleted; it can no longer be undone"]
        context.console.talk("\n".join(lines))
        named = f" {identifier}" if identifier else ""
        command = f"fastinstall rollback --forget{named} --yes --prefix {quote(environment.prefix)}"
        agree(question, arguments, context.console, command)
    done = Done(done=forget_in(session, environment, identifier))
    with report_interruption_after_completion(environment.prefix, "forgetting"):
        tell(context, "forgotten", done, _join, measure_effect(before, environment.prefix, context))
    return ExitCode.OK


def _join(done: Done, _page: Page) -> str:
    return "\n".join(done.done)


_HEAD = ("ID", "BEGAN", "STATE", "HOLDS", "WHAT")


def history_text(found: Transactions, page: Page) -> str:
    """Return a line for each transaction, newest first, a line for each unreadable one, and the total disk space."""
    if not found.transactions:
        return "nothing to undo: fastinstall has set up nothing here"
    cells = ((each.id, each.at or "unknown", str(each.state), each.held, each.title) for each in found.transactions)
    rows = page.table(_HEAD, cells, right=(_HEAD.index("HOLDS"),))
    problems = [f"{each.id}: {each.problem}" for each in found.transactions if each.problem]
    total = f"total: {format_bytes(found.held_bytes)}"
    return "\n".join([*rows, *problems, total])
