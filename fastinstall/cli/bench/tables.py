"""The tables of a bench report, for text and page alike; for a terminal they are laid out by rich."""

import re
from collections.abc import Iterable, Sequence
from io import StringIO

from fastinstall.bench.bottleneck import StageCost
from fastinstall.bench.report import CandidateResult, LoadingRate, WorkloadResult
from fastinstall.bench.wording import format_rate
from fastinstall.cli.bench import words
from fastinstall.cli.console import Page
from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable
from fastinstall.model.speed import SpeedRow

_UNBROKEN = 1000
_EIGHTHS = " ▏▎▍▌▋▊▉"
_INDENT = "  "
_TIMES = re.compile(r"(\d+(?:\.\d+)?)x")


@immutable
class Column:
    """One column of a table.

    Attributes:
        title: the words at its head.
        is_figures: whether it holds figures, which stand to the right and are never broken.
        least: it is never narrower, in columns of the terminal.
    """

    title: str
    is_figures: bool = True
    least: int = 1


@immutable
class Bar:
    """A field that shows a value as a length.

    Attributes:
        value: the figure that its length shows.
        most: the greatest value among its neighbours.
        one: whether a line marks 1, and less than that has another colour; on a page.
        width: the longest bar, in columns of the terminal.
    """

    value: float
    most: float
    one: bool = False
    width: int = 30


Cell = str | Bar


@immutable
class Table:
    """One without the columns that have nothing in them."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def stage_table(costs: Sequence[StageCost]) -> Table:
    """Return milliseconds and share of every stage, as the verdict counts them."""
    rows: list[tuple[Cell, ...]] = [
        (each.name, f"{each.ms:.3f}", f"{each.share:.0%}", Bar(value=each.share, most=1.0)) for each in costs
    ]
    whole = sum(each.ms for each in costs)
    return _make_table((_text("stage"), "ms", "share", _text("")), [*rows, ("all", f"{whole:.3f}", "", "")])


def rate_table(rates: Sequence[LoadingRate]) -> Table:
    """Return images per second by number of workers."""
    most = max(each.images_per_second for each in rates) or 1.0
    rows = [
        (
            str(each.workers),
            format_rate(each.images_per_second),
            f"{each.first_batch_seconds:.2f} s" if each.first_batch_seconds else "",
            format_bytes(each.peak_bytes) if each.peak_bytes else "",
            Bar(value=each.images_per_second, most=most, width=15),
        )
        for each in rates
    ]
    return _make_table(("workers", "images/s", "first batch", "memory", _text("")), rows)


def candidate_table(result: WorkloadResult, *, is_detailed: bool = False) -> Table:
    """Return the baseline, then whatever was measured against it.

    Args:
        result: what was measured of one workload.
        is_detailed: whether bars, titles and versions are shown too.
    """
    shown = words.select_measured((result.baseline, *result.candidates))
    workers = words.find_best_rate_with_workers(result.baseline.rates)
    head = words.format_count(workers.workers, "worker") if workers is not None else ""
    most = max((each.gain.high for each in shown if each.gain is not None), default=1.0)
    columns: tuple[str | Column, ...] = ("gain", "images/s", head, "memory", _text("differs", least=10))
    if is_detailed:
        columns = (*columns, _text(""), _text("what it is"), _text("versions"))
    rows = [(_name(each), *_list_candidate_cells(each, workers, most))[: 1 + len(columns)] for each in shown]
    return _make_table((_text("candidate", least=18), *columns), rows)


def operation_table(rows: Sequence[SpeedRow], *, has_bars: bool = False) -> Table:
    """Return operations of PIL, before and after."""
    most = max((row.ratio for row in rows), default=1.0)
    columns = (_text("operation"), "before ms", "after ms", "faster", *((_text(""),) if has_bars else ()))
    return _make_table(columns, [_list_operation_cells(row, most)[: len(columns)] for row in rows])


def table_lines(table: Table, page: Page, *, unicode: bool = True) -> list[str]:
    """Return a table with a head, indented; words are broken where the page is narrow, figures never.

    Args:
        table: what is shown; "2.10x" is painted as a gain, "0.85x" as a loss.
        page: how it is laid out.
        unicode: whether bars may be drawn with block characters.
    """
    from rich.console import Console  # noqa: PLC0415 (only for tables)
    from rich.table import Table as Layout  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    layout = Layout(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        layout.add_column(
            Text(column.title, "bold" if page.colour else ""),
            justify="right" if column.is_figures else "left",
            no_wrap=column.is_figures,
            min_width=column.least,
        )
    for row in table.rows:
        cells = (_draw_bar(cell, unicode=unicode) if isinstance(cell, Bar) else cell for cell in row)
        layout.add_row(*(Text(cell, _choose_style(cell, page)) for cell in cells))
    out = StringIO()
    console = Console(
        file=out,
        width=_UNBROKEN if page.width is None else page.width - len(_INDENT),
        color_system="standard" if page.colour else None,
        force_terminal=page.colour,
        legacy_windows=False,
    )
    console.print(layout)
    return [_INDENT + line.rstrip() for line in out.getvalue().splitlines()]


def word_table(titles: Iterable[tuple[str, int]], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of words alone, by the titles of its columns and how narrow they may be."""
    return _make_table([_text(title, least=least) for title, least in titles], rows)


def _text(title: str, *, least: int = 1) -> Column:
    return Column(title=title, is_figures=False, least=least)


def _make_table(columns: Iterable[str | Column], rows: Iterable[Sequence[Cell]]) -> Table:
    """Return a table; a column that is named by a string holds figures."""
    made = [each if isinstance(each, Column) else Column(title=each) for each in columns]
    kept = [(column, cells) for column, cells in zip(made, zip(*rows, strict=True), strict=True) if any(cells)]
    cells = zip(*(cells for _, cells in kept), strict=True)
    return Table(columns=tuple(column for column, _ in kept), rows=tuple(cells))


def _list_candidate_cells(result: CandidateResult, workers: LoadingRate | None, most: float) -> tuple[Cell, ...]:
    return (
        words.gain_words(result.gain) if result.gain is not None else "",
        format_rate(result.timing.images_per_second) if result.timing is not None else "",
        words.format_rate_with_workers(result, workers),
        format_bytes(result.timing.peak_bytes) if result.timing is not None and result.timing.peak_bytes else "",
        words.difference_words(result),
        Bar(value=result.gain.ratio, most=most, one=True) if result.gain is not None else "",
        result.candidate.title,
        ", ".join(f"{name} {version}" for name, version in result.versions.items()),
    )


def _name(result: CandidateResult) -> str:
    """Name a candidate as flags do; with the size of a store, and how many of the images it cannot load."""
    told = []
    if result.stored_bytes is not None:
        ratio = "" if result.stored_ratio is None else f", {result.stored_ratio:.3g}x"
        told.append(f"{format_bytes(result.stored_bytes)}{ratio} the files")
    if result.left_out:
        told.append(f"cannot load {result.left_out} of the images")
    name = result.candidate.name
    return f"{name} ({'; '.join(told)})" if told else name


def _list_operation_cells(row: SpeedRow, most: float) -> tuple[Cell, ...]:
    ratio = row.ratio
    bounds = "" if row.low is None or row.high is None else f" ({row.low:.2f}-{row.high:.2f})"
    faster = f"{ratio:.2f}x{bounds}"
    return row.operation, f"{row.before_ms:.2f}", f"{row.after_ms:.2f}", faster, Bar(value=ratio, most=most, one=True)


def _choose_style(text: str, page: Page) -> str:
    """Choose the style of a field by what it says; colours repeat it and add nothing."""
    found = _TIMES.match(text) if page.colour else None
    if found is None:
        return ""
    ratio = float(found[1])
    return "green" if ratio > 1 + words.SAME else "yellow" if ratio < 1 - words.SAME else ""


def _draw_bar(bar: Bar, *, unicode: bool) -> str:
    """Draw a bar in eighths of a column with Unicode, in whole ones without."""
    length = min(max(bar.value / bar.most, 0.0), 1.0) * bar.width
    if not unicode:
        return "#" * round(length)
    whole, eighths = divmod(round(length * 8), 8)
    return "█" * whole + (_EIGHTHS[eighths] if eighths else "")
