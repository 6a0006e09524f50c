"""Format a plan as text, with its warnings and risks."""

import re
from collections.abc import Iterable, Iterator

from fastinstall.cli.console import Page, join_lines
from fastinstall.setup.plan import Plan


def plan_text(plan: Plan, page: Page, expected: Iterable[str] = ()) -> str:
    """Return a plan in a few lines, with its warnings and risks; with --verbose, show every step with its reason.

    Args:
        plan: the plan to show.
        page: width, colours and verbosity of the stream.
        expected: phrases on the expected speed gain, duration and cost; empty ones are omitted.
    """
    lines = list(_list_reasoned_steps(plan, page) if page.verbose else _list_steps(plan, page))
    if plan.steps and (told := "; ".join(filter(None, expected))):
        lines += page.lines(f"Expected: {told}", rest="  ")
    return join_lines((*lines, *list_cautions(plan, page)))


def _list_steps(plan: Plan, page: Page) -> Iterator[str]:
    """Yield the summary of a plan, then its steps, usually one line each."""
    build = plan.build
    head = plan.summary
    if build is not None and plan.verb == "setup":
        head = f"Set up {build.distribution} {build.version} in {plan.environment.prefix}"
    yield from page.lines(head, rest="  ", style="bold")
    for part in build.reason.split("; ") if build else ():
        if part.startswith("not "):  # why a later version was not chosen
            yield from page.lines(part, first="  ", rest="    ")
    for step in plan.steps:
        for line in page.shortened(tuple(step.outline())):
            yield from page.lines(line, first="  ", rest="    ")


def _list_reasoned_steps(plan: Plan, page: Page) -> Iterator[str]:
    """Yield the summary of a plan, then every step and every skipped step with its reason."""
    yield from page.lines(plan.summary, rest="  ", style="bold")
    for number, step in enumerate(plan.steps, start=1):
        yield from page.lines(step.describe(), first=f"  {number}. ", rest="     ")
        for detail in step.list_details():
            yield from page.lines(detail, first="     ", rest="       ")
        yield from page.lines(step.reason, first="     ", rest="     ", style="dim")
    for skip in plan.skipped:
        yield from page.lines(f"not needed: {skip.step} ({skip.reason})", first="  -  ", rest="     ", style="dim")


def list_cautions(plan: Plan, page: Page) -> Iterator[str]:
    """Yield the warnings, then each risk with its details and the flag that accepts it."""
    for warning in plan.warnings:
        yield from page.advice(f"warning: {warning}", rest="  ", style="warning")
    shown: list[str] = []
    for each in plan.risks:
        state = "allowed" if each.allowed else f"needs --allow {each.risk}"
        style = "warning" if each.allowed else "error"
        yield from page.lines(f"risk {each.risk} ({state}): {each.summary}", rest="  ", style=style)
        items = page.shortened(tuple(leave_out_repeated_advisories(each.items, shown)))
        shown += items
        for item in items:
            yield from page.lines(item, first="     ", rest="       ")


def leave_out_repeated_advisories(items: Iterable[str], shown: Iterable[str]) -> Iterator[str]:
    """Yield the items except advisories that were already shown: two risks may name the same advisory."""
    known = {item.partition(" ")[0] for item in shown}
    for item in items:
        identifier = item.partition(" ")[0]
        if identifier not in known or not _ADVISORY.fullmatch(identifier):
            yield item


_ADVISORY = re.compile(r"[A-Z]+(?:-\w+)+")
"""Pattern of advisory identifiers: "CVE-2026-1000", "GHSA-5x8w-8jj5-q52h", "PYSEC-2026-7"."""
