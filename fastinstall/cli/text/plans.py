"""A plan as text: every step with its reason. The same value that --json prints."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fastinstall.cli.console import Page, join_lines
from fastinstall.model.request import PlanRisk

if TYPE_CHECKING:
    from fastinstall.plan.plan import Plan


def plan_text(plan: "Plan", page: Page) -> str:
    """A plan: every step and skip with its reason, then what to weigh before consenting."""
    lines = list(page.lines(plan.summary, rest="  ", style="bold"))
    for number, step in enumerate(plan.steps, start=1):
        lines += page.lines(step.describe(), first=f"  {number}. ", rest="     ")
        lines += (line for detail in step.list_details() for line in page.lines(detail, first="     ", rest="       "))
        lines += page.lines(step.reason, first="     ", rest="     ", style="dim")
    for skip in plan.skipped:
        lines += page.lines(f"not needed: {skip.step} ({skip.reason})", first="  -  ", rest="     ", style="dim")
    for warning in plan.warnings:
        lines += page.advice(f"warning: {warning}", rest="  ", style="warning")
    for hazard in plan.hazards:
        lines += _risk_lines(hazard, page)
    return join_lines(lines)


def _risk_lines(hazard: PlanRisk, page: Page) -> Iterator[str]:
    state = "allowed" if hazard.allowed else f"needs --allow {hazard.risk}"
    style = "warning" if hazard.allowed else "error"
    yield from page.lines(f"risk {hazard.risk} ({state}): {hazard.summary}", rest="  ", style=style)
    for item in page.shortened(hazard.items):
        yield from page.lines(item, first="     ", rest="       ")
