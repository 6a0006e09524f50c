"""Tables and bars for a terminal, laid out by rich as lines of text."""

import re
from collections.abc import Sequence
from io import StringIO

from fastinstall.cli.page import Page
from fastinstall.model.immutable import immutable

_UNBROKEN = 1000
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_ASCII = "#"
_INDENT = "  "
_TIMES = re.compile(r"(\d+(?:\.\d+)?)x")
_NOISE = 0.05
"""A ratio this close to 1 is painted neither as a gain nor as a loss."""


@immutable
class Column:
    """One column of a table.

    Attributes:
        title: its head.
        figures: whether it holds figures, which stand to the right and are never broken.
        least: it is never narrower, in columns of the terminal.
    """

    title: str
    figures: bool = True
    least: int = 1


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], page: Page) -> list[str]:
    """A table with a head, indented; words are broken where the page is narrow, figures never.

    Columns that are empty in every row are left out.

    Args:
        columns: from left to right.
        rows: as many texts each; "2.10x" is painted as a gain, "0.85x" as a loss.
        page: how it is laid out.
    """
    from rich.console import Console  # noqa: PLC0415 (only for tables)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    kept = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number in kept:
        column = columns[number]
        table.add_column(
            Text(column.title, "bold" if page.colour else ""),
            justify="right" if column.figures else "left",
            no_wrap=column.figures,
            min_width=column.least,
        )
    for row in rows:
        table.add_row(*(Text(row[number], _style(row[number], page)) for number in kept))
    width = _UNBROKEN if page.width is None else page.width - len(_INDENT)
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        color_system="standard" if page.colour else None,
        force_terminal=page.colour,
        legacy_windows=False,
    )
    console.print(table)
    return [_INDENT + line.rstrip() for line in out.getvalue().splitlines()]


def _style(text: str, page: Page) -> str:
    """Of one field, by what it says; colours repeat it and add nothing."""
    found = _TIMES.match(text) if page.colour else None
    if found is None:
        return ""
    ratio = float(found[1])
    return "green" if ratio > 1 + _NOISE else "yellow" if ratio < 1 - _NOISE else ""


def bar(share: float, width: int, *, unicode: bool) -> str:
    """A bar for a share of 0 to 1: in eighths of a column with Unicode, in whole ones without."""
    share = min(max(share, 0.0), 1.0)
    if not unicode:
        return _ASCII * round(share * width)
    whole, eighths = divmod(round(share * width * 8), 8)
    return _FULL * whole + (_EIGHTHS[eighths] if eighths else "")
