"""What guards a stack, as text. The same value that --json prints."""

from collections.abc import Iterator

from fastinstall.cli.page import Page
from fastinstall.model.guards import Guards
from fastinstall.model.pins import GuardCost, GuardEvent
from fastinstall.rules.pins import HOLDS_BACK


def guards_text(guards: Guards, page: Page) -> str:
    """The guards one by one, what is wrong with them, what they cost, and what they have told."""
    return "\n".join(_lines(guards, page))


def _lines(guards: Guards, page: Page) -> Iterator[str]:
    yield f"installed, version {guards.version}" if guards.installed else "not installed"
    if guards.installed and guards.installed_by:
        yield f"by {guards.installed_by}, {guards.installed_at}"
    if guards.cost is not None:
        yield _cost(guards.cost)
    if guards.package:
        yield f"in conda: {guards.package}"
    for pin in guards.pins:
        yield f"pinned in {pin.file}: {pin.requirement} ({HOLDS_BACK})"
    problems = (*guards.problems, *(problem for pin in guards.pins for problem in pin.problems))
    yield from (page.paint(f"problem: {problem}", "warning") for problem in problems)
    yield from (f"told {_event(event)}" for event in guards.events)


def _cost(cost: GuardCost) -> str:
    ratio = 1 + cost.median_us / (1000 * cost.start_ms)
    return f"costs {cost.median_us:.0f} us at each start of Python: {ratio:.3f} times a bare one ({cost.starts} starts)"


def _event(event: GuardEvent) -> str:
    by = f" by {event.tool}" if event.tool else ""
    return f"{event.at}: {event.stack} {event.change}{by}"
