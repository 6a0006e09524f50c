"""The advice of `bench` as text: what to do, in the order of what it brings, each with what to type."""

from collections.abc import Iterator, Sequence

from fastinstall.cli.bench_words import gain_words
from fastinstall.cli.page import Page
from fastinstall.model.bench import Advice

_BELOW = " " * 5


def advice_lines(advice: Sequence[Advice], page: Page, *, most: int | None = None) -> list[str]:
    """Render the advice as a numbered list, empty if there is none.

    Args:
        advice: in the order of gain.
        page: how it is laid out.
        most: how many are shown; None for all.
    """
    if not advice:
        return []
    lines = [f"  {page.paint('what to do, the greatest gain first', 'bold')}"]
    for number, each in enumerate(advice[:most], 1):
        lines += page.lines(_told(each), first=f"  {number}. ", rest=_BELOW)
        lines += _to_type(each, page, _BELOW)
    left_out = len(advice[most:]) if most is not None else 0
    return [*lines, f"  ... and {left_out} more: --verbose or --json"] if left_out else lines


def first_advice(advice: Sequence[Advice], page: Page) -> list[str]:
    """Return the recommended one, else the first, or nothing if there is none."""
    first = next((each for each in advice if each.recommended), next(iter(advice), None))
    if first is None:
        return []
    return [*page.lines(_told(first), first="  ", rest="    "), *_to_type(first, page, "  ")]


def _told(advice: Advice) -> str:
    gain = f"{gain_words(advice.gain)}: " if advice.gain is not None else ""
    begin = "begin here: " if advice.recommended else ""
    return begin + gain + advice.finding.message


def _to_type(advice: Advice, page: Page, indent: str) -> Iterator[str]:
    """The line of code and the command, never broken, so that they can be pasted."""
    remedy = advice.finding.remedy
    if remedy is not None and remedy.text and remedy.text != advice.code:
        yield from page.lines(remedy.text, first=indent, rest=indent + "  ")
    for line in advice.code.splitlines():
        yield f"{indent}  {line}"
    if remedy is not None and remedy.command:
        yield f"{indent}  {page.paint(remedy.command, 'bold')}"
