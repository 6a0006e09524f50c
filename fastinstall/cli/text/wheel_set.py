"""A set of wheels as text: what is there, what is not and why. The same value that --json prints."""

from collections.abc import Iterator

from fastinstall.cli.console import Page, join_lines
from fastinstall.core.messages import quote
from fastinstall.fleet.wheel_set import SetWheel, WheelOutcome, WheelSet
from fastinstall.wheelbuild.package_index import PAGES

_BELOW = " " * 4


def set_text(made: WheelSet, page: Page) -> str:
    """Return a line for each wheel, then where the index is."""
    lines = [page.paint(made.summary, "bold")]
    for wheel in made.wheels:
        lines += _render_wheel(wheel, page)
    if any(wheel.outcome is WheelOutcome.THERE for wheel in made.wheels):
        lines += page.lines(f"a package index for pip and others: {made.directory / PAGES}")
        lines.append(f"try it: python3 -m http.server --directory {quote(made.directory)}")
    return join_lines(lines)


def _render_wheel(wheel: SetWheel, page: Page) -> Iterator[str]:
    name = f"  {page.paint(f'{wheel.abi:<7}', 'bold')} "
    if wheel.outcome is WheelOutcome.THERE:
        yield f"{name}{wheel.wheel}"
        return
    yield from page.lines(f"not here: {wheel.problem}", first=name, rest=_BELOW, style="warning")
    yield from page.advice(f"hint: {wheel.hint}", first=_BELOW, rest=_BELOW + "  ")
