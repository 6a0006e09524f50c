"""`fastinstall apply FILE`: carry out a saved plan, if planning again gives the same plan."""

from argparse import Namespace
from pathlib import Path

from fastinstall.cli.commands.setup import finish
from fastinstall.cli.common import identify_state, open_working_session, recover_or_report
from fastinstall.cli.consent import consent, refuse_unaccepted
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_allowed
from fastinstall.core import foreign
from fastinstall.core.codec import open_document
from fastinstall.core.errors import DocumentError, UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.setup.expectations import describe_expectations
from fastinstall.setup.look import confirm_empty_plan
from fastinstall.setup.plan import PLAN_AGAIN, Plan, allow_risks, list_fetched_artefacts
from fastinstall.setup.recovery import report_interruption_after_completion
from fastinstall.verbs.setup import decide_saved_plan_again, refuse_another_environment


def run(arguments: Namespace, context: Context) -> int:
    """Read a saved plan, check it, ask for consent, and carry it out."""
    session = open_working_session(context)
    saved = read_plan(Path(arguments.file))
    try:
        refuse_another_environment(session, saved)  # comes before consent, so it must not run the plan's interpreter
    except UndeterminedError as error:
        message = f"{arguments.file}: environment.prefix: {error.message}"
        raise UndeterminedError(message, hint=PLAN_AGAIN) from None
    before = identify_state(saved.environment.prefix)
    if saved.environment.prefix.is_dir():
        recover_or_report(session, saved.environment, arguments, context)
    asked = allow_risks(saved, read_allowed(arguments, context.sources))
    if context.console.verbose or not arguments.yes:
        context.console.talk("\n".join(list_fetched_artefacts(saved)))
    command = f"fastinstall apply --yes {quote(arguments.file)}"
    consented = consent(asked, arguments, context, command, describe_expectations(session, asked))
    # This runs the interpreter that the plan names; the user has now agreed to that.
    agreed = decide_saved_plan_again(session, saved, consented.request.allow)
    refuse_unaccepted(agreed)
    if agreed.steps:
        from fastinstall.setup.carry_out import carry_out  # a plan without steps does not need it

        outcome = carry_out(session, agreed)
    else:
        outcome = confirm_empty_plan(agreed)
    with report_interruption_after_completion(agreed.environment.prefix, agreed.verb):
        return finish(session, outcome, context, before)


def read_plan(path: Path) -> Plan:
    """Read a saved plan.

    Raises:
        DocumentError: the file is missing or malformed; the message names file and key.
    """
    if not path.exists():
        raise DocumentError(path, "", "no such file", hint=f"save a plan first: fastinstall plan -o {quote(path)}")
    try:
        return open_document(Plan, "plan", foreign.read_json(path), file=path)
    except DocumentError as error:
        raise error.hinting(PLAN_AGAIN) from None
