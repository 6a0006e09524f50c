"""`fastinstall setup`: plan, consent, carry out; a wizard where a person sits at a terminal."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from fastinstall.apply.carry_out import SetupOutcome
from fastinstall.apply.expectations import describe_expectations
from fastinstall.apply.late_interrupts import report_interruption_after_completion
from fastinstall.apply.recovery import recover_first
from fastinstall.cli.common import make_request, open_working_session, target_of, tell, tell_interruptions
from fastinstall.cli.consent import consent, equivalent_command
from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.main import Context
from fastinstall.cli.text.plan_page import plan_text
from fastinstall.cli.text.reports import count_passed, finding_lines, render_speed_table, report_text
from fastinstall.core.errors import ExitCode
from fastinstall.core.messages import quote
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.pip_pins import describe_pin_for_uv
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.kinds import find_step
from fastinstall.steps.pin_for_pip import PinForPip
from fastinstall.verbs.plan import plan_setup
from fastinstall.verbs.setup import examine_result, set_up


def run(arguments: Namespace, context: Context) -> int:
    """Set up the fast stack."""
    session = open_working_session(context)
    target, request = target_of(arguments), make_request(arguments, context)
    if arguments.yes and not arguments.dry_run:
        recover_first(session, target)
    is_told = arguments.yes or arguments.dry_run or context.console.json
    if context.console.interactive and not is_told:
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
    if console.json or not agreed.steps:
        tell(context, "receipt", receipt, lambda *_: agreed.summary)
        return ExitCode.OK
    report = examine_result(session, outcome)
    if wizard:
        console.data(render_wizard_ending(agreed, receipt, report, console.out))
        return ExitCode.OK
    if report is not None and console.verbose:
        console.data(report_text(report, console.out))
    if receipt.speed is not None and console.verbose:
        console.data(render_speed_table(receipt.speed, console.out))
    text = outcome_text(agreed, receipt, report, console.out)
    console.data(text.partition("\n")[0] if console.quiet else text)
    return ExitCode.OK


def render_wizard_ending(plan: Plan, receipt: Receipt, report: EnvironmentReport | None, page: Page) -> str:
    """Return the last screen: what holds now, how fast it is, how to undo it, what is next, and the same run as flags.

    Args:
        plan: that was carried out.
        receipt: of the setup that holds.
        report: doctor's report, or None if it could not be made.
        page: how lines are broken; commands never are.
    """
    prefix = quote(plan.environment.prefix)
    return outcome_text(plan, receipt, report, page) + join_lines(
        (
            f"check: fastinstall doctor --prefix {prefix}",
            f"your images: fastinstall bench --prefix {prefix} DIR",
            "the same without questions:",
            f"  {equivalent_command(plan)}",
        )
    )


_FEW = 3
_MATTER = {
    "decode-256-224 500 px": "decode, resize and crop a 500 px photo",
    "decode-256-224 1080p": "decode, resize and crop a 1080p photo",
    "resize 1080p-256 RGB bilinear": "resize a 1080p image",
}
"""Operations that most programs spend their time on, in plain words."""


def outcome_text(plan: Plan, receipt: Receipt, report: EnvironmentReport | None, page: Page) -> str:
    """Return what is in place, how fast it is, how it is guarded, and how to undo it."""
    is_built = find_step(plan.steps, Build) is not None
    stack = f"{receipt.distribution} {receipt.version} is in place in {plan.environment.prefix}"
    done = stack if is_built else f"done: {plan.summary}"
    passed = f"; {count_passed(report.findings)}" if report is not None else ""
    grave = [each for each in report.findings if each.status.gravity >= Status.WARNING.gravity] if report else []
    lines = [*page.lines(done + passed, rest="  ", style="ok")]
    for finding in grave:
        lines += finding_lines(finding, len(finding.check), page)
    if receipt.speed is not None and is_built:
        lines += _list_speed(receipt.speed, page)
    undo = f"fastinstall rollback --prefix {quote(plan.environment.prefix)}"
    lines += page.lines(_describe_guard(plan, receipt), rest="  ")
    if find_step(plan.steps, PinForPip) is not None:
        lines += page.advice(describe_pin_for_uv(plan.environment.prefix), rest="  ")
    return join_lines((*lines, f"undo: {undo}"))


def _describe_guard(plan: Plan, receipt: Receipt) -> str:
    if not plan.request.guard:
        return "not guarded: run fastinstall doctor from time to time"
    if receipt.conda is not None and receipt.conda.guard is not None:
        return (
            "guarded: conda keeps this build (security updates: `fastinstall setup --upgrade`); "
            "a start-up hook warns when pip or uv replaces it"
        )
    return "guarded: a start-up hook warns when another tool replaces it"


def _list_speed(table: SpeedTable, page: Page) -> Iterator[str]:
    """List how many times as fast it is in one figure, the rows that matter to most, and what is slower."""
    earlier = f", measured on {table.measured_at[:10]}" if table.reused else ""
    yield from page.lines(f"{table.gain}{earlier}", rest="  ", style="bold")
    rows = {row.operation: row for row in table.rows}
    for name in [name for name in _MATTER if name in rows] or list(rows)[:_FEW]:
        yield f"  {rows[name].range:<20} {_MATTER.get(name, name)}"
    if table.slower:
        slower = ", ".join(f"{row.operation} ({row.ratio:.2f}x)" for row in table.slower)
        yield from page.lines(f"slower: {slower}", rest="  ", style="warning")
