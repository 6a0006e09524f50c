"""`fastinstall setup`: plan, consent, carry out; a wizard where a person sits at a terminal."""

from argparse import Namespace
from pathlib import Path

from fastinstall.apply.carry_out import SetupOutcome
from fastinstall.apply.expectations import describe_expectations
from fastinstall.apply.late_interrupts import report_interruption_after_completion
from fastinstall.apply.recovery import recover_first
from fastinstall.cli.common import make_request, open_working_session, target_of, tell, tell_interruptions
from fastinstall.cli.consent import consent, equivalent_command
from fastinstall.cli.main import Context
from fastinstall.cli.text.plan_page import outcome_text, plan_text
from fastinstall.cli.text.reports import render_speed_table, report_text
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import ExitCode
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.verbs.plan import plan_setup
from fastinstall.verbs.setup import examine_result, set_up


def run(arguments: Namespace, context: Context) -> int:
    """Set up the fast stack."""
    session = open_working_session(context)
    target, request = target_of(arguments), make_request(arguments, context)
    if arguments.yes and not arguments.dry_run:
        recover_first(session, target)
    if _is_for_a_person(arguments, context):
        from fastinstall.cli.wizard.wizard import ask_for_plan  # noqa: PLC0415 (questionary, only for a person)

        agreed = ask_for_plan(session, target, request, context.console)
    else:
        agreed = plan_setup(session, target, request)
        if arguments.dry_run:
            if Path(agreed.environment.prefix).is_dir():
                tell_interruptions(agreed.environment, context)
            expected = describe_expectations(session, agreed)
            tell(context, "plan", agreed, lambda plan, page: plan_text(plan, page, expected))
            return ExitCode.OK
        if agreed.steps:
            expected = describe_expectations(session, agreed)
            agreed = consent(agreed, arguments, context, equivalent_command(agreed), expected)

    def agree(other: Plan) -> Plan:
        """Consent to the plan that takes the place of one that did not prove."""
        return consent(other, arguments, context, equivalent_command(other))

    outcome = set_up(session, agreed, agree)
    with report_interruption_after_completion(outcome.plan.environment.prefix, outcome.plan.verb):
        return finish(session, outcome, context, wizard=not arguments.yes)


def finish(session: Session, outcome: SetupOutcome, context: Context, *, wizard: bool) -> int:
    """Print what came of a plan: the receipt as JSON, or what is in place; doctor's report and all timings if asked."""
    context.closing.close()  # a line that is alive on the terminal goes first
    console, agreed, receipt = context.console, outcome.plan, outcome.receipt
    if console.json:
        console.data(dump(document("receipt", receipt)))
        return ExitCode.OK
    if not agreed.steps:
        console.data(agreed.summary)
        return ExitCode.OK
    report = examine_result(session, outcome)
    if wizard:
        from fastinstall.cli.wizard.wizard import render_wizard_ending  # noqa: PLC0415 (only for a person)

        console.data(render_wizard_ending(agreed, receipt, report, console.out))
        return ExitCode.OK
    if report is not None and console.verbose:
        console.data(report_text(report, console.out))
    if receipt.speed is not None and console.verbose:
        console.data(render_speed_table(receipt.speed, console.out))
    text = outcome_text(agreed, receipt, report, console.out)
    console.data(text.partition("\n")[0] if console.quiet else text)
    return ExitCode.OK


def _is_for_a_person(arguments: Namespace, context: Context) -> bool:
    return context.console.interactive and not (arguments.yes or arguments.dry_run or context.console.json)
