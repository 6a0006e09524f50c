"""`fastinstall setup`: make a plan, ask for consent (at a terminal, in a wizard), and carry the plan out."""

from argparse import Namespace
from collections.abc import Iterator
from functools import partial

from fastinstall.cli.common import (
    identify_state,
    measure_effect,
    open_working_session,
    target_of,
    tell,
    tell_interruptions,
    tell_restarts,
)
from fastinstall.cli.consent import consent, equivalent_command
from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_request
from fastinstall.cli.text.plan_page import list_cautions, plan_text
from fastinstall.cli.text.reports import count_passed, finding_lines, render_speed_table, report_text
from fastinstall.core.errors import ExitCode
from fastinstall.core.messages import quote
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.pip_pins import describe_pin_for_uv
from fastinstall.observe.session import Session
from fastinstall.setup.expectations import describe_expectations
from fastinstall.setup.plan import Plan, SetupOutcome
from fastinstall.setup.recovery import recover_first, report_interruption_after_completion
from fastinstall.setup.steps.pin import PinForPip
from fastinstall.verbs.setup import examine_result, plan_setup, set_up


def run(arguments: Namespace, context: Context) -> int:
    """Plan a setup, ask for consent, and carry the plan out; with --dry-run, only print the plan."""
    session = open_working_session(context)
    target, request = target_of(arguments), read_request(arguments, context.sources)
    name_flags = partial(equivalent_command, names_python=bool(arguments.python))
    if arguments.yes and not arguments.dry_run:
        recover_first(session, target)
    is_told = arguments.yes or arguments.dry_run or context.console.json
    if context.console.interactive and not is_told:
        from fastinstall.cli.wizard.wizard import ask_for_plan  # questionary, only for a person

        agreed = ask_for_plan(session, target, request, context.console)
    else:
        agreed = plan_setup(session, target, request)
        if arguments.dry_run:
            if agreed.environment.prefix.is_dir():
                tell_interruptions(agreed.environment, context)
            expected = describe_expectations(session, agreed)
            tell(context, "plan", agreed, lambda plan, page: plan_text(plan, page, expected))
            return ExitCode.OK
        if agreed.steps:
            expected = describe_expectations(session, agreed)
            agreed = consent(agreed, arguments, context, name_flags(agreed), expected)

    before = identify_state(agreed.environment.prefix)

    def agree(other: Plan) -> Plan:
        """Ask for consent to another plan, because the build of the earlier plan failed its proof."""
        return consent(other, arguments, context, name_flags(other))

    outcome = set_up(session, agreed, agree)
    with report_interruption_after_completion(outcome.plan.environment.prefix, outcome.plan.verb):
        same = "" if arguments.yes else name_flags(outcome.plan)
        return finish(session, outcome, context, before, same=same)


def finish(session: Session, outcome: SetupOutcome, context: Context, before: object, *, same: str = "") -> int:
    """Print the result of a plan that was carried out, and return the exit code.

    With --json, the result is the receipt. With --verbose, the text includes timings and doctor's report.

    Args:
        session: variables, directories, clock and event listener of this run.
        outcome: the plan that was carried out, and its receipt.
        context: the context of this run, with the console.
        before: the state of the environment before the run, from `identify_state`.
        same: for a user of the wizard, the equivalent command line, which is printed last; empty to print none.
    """
    context.closing.close()  # ends the live progress line
    console, agreed, receipt = context.console, outcome.plan, outcome.receipt
    effect = measure_effect(before, agreed.environment.prefix, context)
    if not agreed.steps and agreed.warnings:
        console.complain(join_lines(list_cautions(agreed, console.err)))
    if console.json or not agreed.steps:
        tell(context, "receipt", receipt, lambda *_: agreed.summary, effect)
        return ExitCode.OK
    report = examine_result(session, outcome)
    text = outcome_text(agreed, receipt, report, console.out, same=same)
    console.data(text.partition("\n")[0] if console.quiet and not same else text)
    if console.verbose and not same:
        if receipt.speed is not None:
            console.data(render_speed_table(receipt.speed, console.out))
        if report is not None:
            console.data(report_text(report, console.out, ()))
    tell_restarts(effect, context)
    return ExitCode.OK


_FEW = 3
_MATTER = {
    "decode-256-224 500 px": "decode, resize and crop a 500 px photo",
    "decode-256-224 1080p": "decode, resize and crop a 1080p photo",
    "resize 1080p-256 RGB bilinear": "resize a 1080p image",
}
"""Operation to its description in plain words, for operations on which most programs spend their time."""


def outcome_text(plan: Plan, receipt: Receipt, report: EnvironmentReport | None, page: Page, *, same: str = "") -> str:
    """Return the text after a setup: what was installed, its speed, its guards, how to undo it, and what doctor found.

    Args:
        plan: the plan that was carried out.
        receipt: the receipt of the current setup.
        report: doctor's report, or None if it could not be made.
        page: the layout; commands are never wrapped.
        same: for a user of the wizard, the equivalent command line, printed last with other commands to try; empty to
            leave these lines out.
    """
    prefix = quote(plan.environment.prefix)
    stack = f"{receipt.distribution} {receipt.version} is in place in {plan.environment.prefix}"
    done = stack if plan.build is not None else f"done: {plan.summary}"
    passed = f"; {count_passed(report.findings)}" if report is not None else ""
    lines = [*page.lines(done + passed, rest="  ", style="ok")]
    if receipt.speed is not None and plan.build is not None:
        lines += _list_speed(receipt.speed, page)
    lines.append(f"undo: fastinstall rollback --prefix {prefix}")
    lines += page.lines(_describe_guard(plan, receipt), rest="  ")
    if isinstance(plan.pin, PinForPip):
        lines += page.advice(describe_pin_for_uv(plan.environment.prefix), rest="  ")
    for finding in report.findings if report is not None else ():
        if finding.status.gravity >= Status.WARNING.gravity:
            lines += finding_lines(finding, len(finding.check), page)
    if same:
        lines += (
            f"check: fastinstall doctor --prefix {prefix}",
            f"your images: fastinstall bench --prefix {prefix} DIR",
            "the same without questions:",
            f"  {same}",
        )
    return join_lines(lines)


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
    """Yield the overall gain, the gain of the operations that most programs use, and the operations that are slower."""
    earlier = f", measured on {table.measured_at[:10]}" if table.reused else ""
    yield from page.lines(f"{table.gain}{earlier}", rest="  ", style="bold")
    rows = {row.operation: row for row in table.rows}
    for name in [name for name in _MATTER if name in rows] or list(rows)[:_FEW]:
        beside = f"  {rows[name].range:<20} "
        yield from page.lines(_MATTER.get(name, name), first=beside, rest=" " * len(beside))
    if table.slower:
        slower = ", ".join(f"{row.operation} ({row.ratio:.2f}x)" for row in table.slower)
        yield from page.lines(f"slower: {slower}", rest="  ", style="warning")
