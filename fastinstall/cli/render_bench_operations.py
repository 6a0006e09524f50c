"""The operations of PIL before and after as text: wins, losses and what did not change."""

import math

from fastinstall.cli.page import Page
from fastinstall.cli.render_bench_table import Column, table_lines
from fastinstall.model.receipt import SpeedRow, SpeedTable

SAME = 0.05
"""A ratio that is no further from 1 is told as the same."""
_FIRST, _LAST = 10, 5
_FEW = 3


def operation_lines(table: SpeedTable, page: Page, *, brief: bool) -> list[str]:
    """The table, the fastest first, and how many were won and lost.

    Args:
        table: what was measured.
        page: how it is laid out.
        brief: whether a few rows are enough; every one is shown where much is to be shown (--verbose).
    """
    rows = sorted(table.rows, key=ratio_of, reverse=True)
    first, last = (_FEW, _FEW) if brief else (_FIRST, _LAST)
    shown = rows if page.verbose or len(rows) <= first + last + 1 else [*rows[:first], *rows[-last:]]
    title = f"operations of PIL: {table.candidate} against {table.baseline}"
    columns = (
        Column(title="operation", figures=False),
        Column(title="before ms"),
        Column(title="after ms"),
        Column(title="faster"),
    )
    lines = [*page.lines(title, rest="  ", style="bold"), *page.lines(tally(table), first="  ", rest="    ")]
    lines += table_lines(columns, [_row(each) for each in shown], page)
    if len(shown) < len(rows):
        lines.append(f"  ... and {len(rows) - len(shown)} between them: --verbose, --csv FILE or --html FILE")
    losses = [f"{row.operation} ({ratio_of(row):.2f}x)" for row in rows if ratio_of(row) < 1 - SAME]
    if losses:
        lines += page.lines(f"slower: {', '.join(losses)}", first="  ", rest="    ")
    return lines


def tally(table: SpeedTable) -> str:
    """How many are faster and slower, and the geometric mean."""
    faster = sum(ratio_of(row) > 1 + SAME for row in table.rows)
    slower = sum(ratio_of(row) < 1 - SAME for row in table.rows)
    same = len(table.rows) - faster - slower
    return (
        f"{faster} faster, {slower} slower, {same} within {SAME:.0%}; "
        f"geometric mean of these {len(table.rows)}: {table.geomean:.2f}x"
    )


def ratio_of(row: SpeedRow) -> float:
    """How many times as fast after as before."""
    return row.before_ms / row.after_ms if row.after_ms else math.inf


def _row(row: SpeedRow) -> tuple[str, ...]:
    ratio = ratio_of(row)
    bounds = "" if row.low is None or row.high is None else f" ({row.low:.2f}-{row.high:.2f})"
    return row.operation, f"{row.before_ms:.2f}", f"{row.after_ms:.2f}", f"{ratio:.2f}x{bounds}"
