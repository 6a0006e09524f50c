"""Short documents as text: the guards of a stack, history, and the verdict on lock files.

The text shows the same values that --json prints. Lock files are reported as compilers report theirs.

A plan, too: every step with its reason, as the same value that --json prints.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fastinstall.cli.console import Page, join_lines
from fastinstall.model.request import PlanRisk

if TYPE_CHECKING:
    from fastinstall.plan.plan import Plan


from fastinstall.core.messages import format_bytes
from fastinstall.guard.status import Guards
from fastinstall.lockcheck.verdict import LockFinding, LockReport
from fastinstall.model.guard_state import GuardCost, GuardEvent
from fastinstall.model.history import PastTransaction, Transactions
from fastinstall.model.pin_state import PinKind
from fastinstall.observe.installed_pins import HOLDS_BACK
from fastinstall.observe.pip_pins import describe_pin_for_uv


def guards_text(guards: Guards, page: Page) -> str:
    """Return the guards one by one, what is wrong with them, what they cost, and what they have told."""
    return "\n".join(_render_guards(guards, page))


def _render_guards(guards: Guards, page: Page) -> Iterator[str]:
    yield f"installed, version {guards.version}" if guards.installed else "not installed"
    if guards.installed and guards.installed_by:
        yield f"by {guards.installed_by}, {guards.installed_at}"
    if guards.cost is not None:
        yield _describe_cost(guards.cost)
    if guards.package:
        yield f"in conda: {guards.package}"
    for pin in guards.pins:
        yield f"pinned in {pin.file}: {pin.requirement} ({HOLDS_BACK})"
        if pin.kind == PinKind.PIP:
            yield describe_pin_for_uv(pin.file.parent)
    problems = (*guards.problems, *(problem for pin in guards.pins for problem in pin.problems))
    yield from (page.paint(f"problem: {problem}", "warning") for problem in problems)
    yield from (f"told {_describe_event(event)}" for event in guards.events)


def _describe_cost(cost: GuardCost) -> str:
    ratio = 1 + cost.median_us / (1000 * cost.start_ms)
    return f"costs {cost.median_us:.0f} us at each start of Python: {ratio:.3f} times a bare one ({cost.starts} starts)"


def _describe_event(event: GuardEvent) -> str:
    by = f" by {event.tool}" if event.tool else ""
    return f"{event.at}: {event.stack} {event.change}{by}"


_HEAD = ("ID", "BEGAN", "STATE", "HOLDS", "WHAT")
_HOLDS = _HEAD.index("HOLDS")


def history_text(found: Transactions, page: Page) -> str:
    """Return one line for each transaction, the newest first, and what they hold together."""
    if not found.transactions:
        return "nothing to undo: fastinstall has set up nothing here"
    rows = page.table(_HEAD, map(_make_row, found.transactions), right=(_HOLDS,))
    problems = [f"{each.id}: {each.problem}" for each in found.transactions if each.problem]
    total = f"they hold {format_bytes(found.held_bytes)} in all"
    return "\n".join([*rows, *problems, total])


def _make_row(each: PastTransaction) -> tuple[str, ...]:
    return (each.id, each.at or "unknown", str(each.state), each.held, each.title)


def locks_text(report: LockReport, page: Page) -> str:
    """Return two or three lines a finding, and how many files were judged."""
    lines = [line for finding in report.findings for line in _render_finding(finding, page)]
    number = len(report.files)
    files = f"{number} file{'s' if number != 1 else ''} checked, {len(report.findings) or 'no'} finding"
    plural = "" if len(report.findings) == 1 else "s"
    return join_lines([*lines, page.paint(f"{report.status}: {files}{plural}", report.status)])


def _render_finding(finding: LockFinding, page: Page) -> Iterator[str]:
    place = f"{finding.file}:{finding.line}: "
    status = page.paint(f"{finding.status}: ", finding.status)
    yield f"{place}{status}{finding.says}: {finding.message}"
    yield from page.lines(f"hint: {finding.remedy.text}", first="  ", rest="        ")
    if finding.remedy.command:
        yield f"        {finding.remedy.command}"


def plan_text(plan: "Plan", page: Page, expected: Iterable[str] = ()) -> str:
    """Return a plan in a few lines, and what to weigh before consenting; with --verbose every step with its reason.

    Args:
        plan: what would be done, or is about to be.
        page: width, colours and verbosity of the stream.
        expected: what it is expected to take and to bring.
    """
    from fastinstall.cli.text.setup_page import list_steps  # noqa: PLC0415 (only where there is a plan)

    lines = _list_steps(plan, page) if page.verbose else list(list_steps(plan, page))
    if plan.steps and (told := "; ".join(filter(None, expected))):
        lines += page.lines(f"Expected: {told}", rest="  ")
    for warning in plan.warnings:
        lines += page.advice(f"warning: {warning}", rest="  ", style="warning")
    for plan_risk in plan.risks:
        lines += _risk_lines(plan_risk, page)
    return join_lines(lines)


def _list_steps(plan: "Plan", page: Page) -> list[str]:
    """List every step and skip with its reason."""
    lines = list(page.lines(plan.summary, rest="  ", style="bold"))
    for number, step in enumerate(plan.steps, start=1):
        lines += page.lines(step.describe(), first=f"  {number}. ", rest="     ")
        lines += (line for detail in step.list_details() for line in page.lines(detail, first="     ", rest="       "))
        lines += page.lines(step.reason, first="     ", rest="     ", style="dim")
    for skip in plan.skipped:
        lines += page.lines(f"not needed: {skip.step} ({skip.reason})", first="  -  ", rest="     ", style="dim")
    return lines


def _risk_lines(plan_risk: PlanRisk, page: Page) -> Iterator[str]:
    state = "allowed" if plan_risk.allowed else f"needs --allow {plan_risk.risk}"
    style = "warning" if plan_risk.allowed else "error"
    yield from page.lines(f"risk {plan_risk.risk} ({state}): {plan_risk.summary}", rest="  ", style=style)
    for item in page.shortened(plan_risk.items):
        yield from page.lines(item, first="     ", rest="       ")
