"""A plan as text, with what to weigh before consenting; and what a setup by it has come to."""

from collections.abc import Iterable, Iterator

from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.text.reports import count_passed, finding_lines
from fastinstall.core.messages import quote
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.pip_pins import describe_pin_for_uv
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.kinds import find_step
from fastinstall.steps.pin_for_pip import PinForPip


def plan_text(plan: Plan, page: Page, expected: Iterable[str] = ()) -> str:
    """Return a plan in a few lines, and what to weigh before consenting; with --verbose every step with its reason.

    Args:
        plan: what would be done, or is about to be.
        page: width, colours and verbosity of the stream.
        expected: what it is expected to take and to bring.
    """
    lines = list(_list_reasoned_steps(plan, page) if page.verbose else _list_steps(plan, page))
    if plan.steps and (told := "; ".join(filter(None, expected))):
        lines += page.lines(f"Expected: {told}", rest="  ")
    return join_lines((*lines, *list_cautions(plan, page)))


def _list_steps(plan: Plan, page: Page) -> Iterator[str]:
    """Yield what a plan does, a line for each step."""
    build = find_step(plan.steps, Build)
    head = plan.summary
    if build is not None and plan.verb == "setup":
        head = f"Set up {build.distribution} {build.version} in {plan.environment.prefix}"
    yield from page.lines(head, rest="  ", style="bold")
    for part in build.reason.split("; ") if build else ():
        if part.startswith("not "):  # a later version, and what hinders it
            yield from page.lines(part, first="  ", rest="    ")
    for step in plan.steps:
        for line in page.shortened(tuple(step.outline())):
            yield from page.lines(line, first="  ", rest="    ")


def _list_reasoned_steps(plan: Plan, page: Page) -> Iterator[str]:
    """Yield every step and skip with its reason."""
    yield from page.lines(plan.summary, rest="  ", style="bold")
    for number, step in enumerate(plan.steps, start=1):
        yield from page.lines(step.describe(), first=f"  {number}. ", rest="     ")
        for detail in step.list_details():
            yield from page.lines(detail, first="     ", rest="       ")
        yield from page.lines(step.reason, first="     ", rest="     ", style="dim")
    for skip in plan.skipped:
        yield from page.lines(f"not needed: {skip.step} ({skip.reason})", first="  -  ", rest="     ", style="dim")


def list_cautions(plan: Plan, page: Page) -> Iterator[str]:
    """Yield warnings, and risks with what they bring and what allows them."""
    for warning in plan.warnings:
        yield from page.advice(f"warning: {warning}", rest="  ", style="warning")
    for each in plan.risks:
        state = "allowed" if each.allowed else f"needs --allow {each.risk}"
        style = "warning" if each.allowed else "error"
        yield from page.lines(f"risk {each.risk} ({state}): {each.summary}", rest="  ", style=style)
        for item in page.shortened(each.items):
            yield from page.lines(item, first="     ", rest="       ")


_FEW = 3
_KEPT = (
    "guarded: conda keeps this build (security updates: `fastinstall setup --upgrade`); "
    "a start-up hook warns when pip or uv replaces it"
)
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
        return _KEPT
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
