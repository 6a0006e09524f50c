"""How the wizard ends: what has changed, how to undo it, how it is guarded, what to do next, and the same as flags."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from fastinstall.cli.consent import equivalent_command
from fastinstall.cli.page import Page, joined
from fastinstall.cli.render import report_text, speed_text
from fastinstall.model.finding import Report, Status
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.rules.messages import quote


def ending_text(plan: Plan, receipt: Receipt, report: Report | None, page: Page) -> str:
    """The last screen.

    Args:
        plan: that was carried out.
        receipt: of the setup that holds.
        report: doctor's report, or None if it could not be made.
        page: how lines are broken; commands never are.
    """
    parts = [_checked(report, page), _speed(receipt, page), joined(_closing(plan, receipt, page))]
    return "\n".join(part for part in parts if part)


def _checked(report: Report | None, page: Page) -> str:
    """How doctor's checks ended; in full only what is not well."""
    if report is None:
        return ""
    told = tuple(each for each in report.findings if each.status not in (Status.OK, Status.SKIPPED))
    counts = Counter(each.status for each in report.findings)
    tally = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    text = joined(page.lines(f"checked by doctor: {tally}", rest="  ", style=report.status))
    return text if not told else report_text(replace(report, findings=told), page) + text


def _speed(receipt: Receipt, page: Page) -> str:
    return speed_text(receipt.speed, page) if receipt.speed is not None else ""


def _closing(plan: Plan, receipt: Receipt, page: Page) -> Iterator[str]:
    prefix = quote(plan.environment.prefix)
    before, after = receipt.previous or "no Pillow", f"{receipt.distribution} {receipt.version}"
    change = f"{before} -> {after}" if before != after else f"{after}, made anew"
    yield from page.lines(f"done: {change}", rest="  ", style="bold")
    yield from page.lines(f"in {plan.environment.prefix}", first="  ", rest="    ")
    if receipt.speed is not None:
        gain = f"{receipt.speed.geomean:.1f} times as fast as {receipt.speed.baseline} in the mean of the table above"
        yield from page.lines(gain, first="  ", rest="  ")
    yield "undo:"
    yield f"  fastinstall rollback --prefix {prefix}"
    yield from page.lines(f"guarded: {_guard(plan)}", rest="  ")
    yield "next:"
    yield f"  fastinstall doctor --prefix {prefix}"
    yield "      is it whole, fast, and still ours?"
    yield f"  fastinstall bench --prefix {prefix} DIR"
    yield "      is loading your images in DIR the bottleneck, and what would help?"
    yield "the same again, without questions:"
    yield f"  {equivalent_command(plan)}"


def _guard(plan: Plan) -> str:
    if not plan.wish.guard:
        return "no; ask from time to time: fastinstall doctor swapped"
    pinned = " A pin holds other tools to it." if plan.wish.pin else ""
    return f"each program tells you once when another tool has replaced it, with the command to get it back.{pinned}"
