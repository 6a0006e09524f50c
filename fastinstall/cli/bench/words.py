"""Words, figures and terminal tables of a bench report.

Text and page share the words and figures. Tables and bars for a terminal are laid out by rich as lines of text;
they include the operations of PIL before and after.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from fastinstall.bench.report import (
    BenchReport,
    Candidate,
    CandidateKind,
    CandidateOutcome,
    CandidateResult,
    Difference,
    Gain,
    ImagePipeline,
    LoadingRate,
    Unmeasured,
    WorkerStart,
    Workload,
)
from fastinstall.cli.console import Page
from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem, LoaderLimits
from fastinstall.model.receipt import SpeedRow, SpeedTable

_KILO = 1000
_EXAMPLES = 3
_PRECISE = 100
"""Below it a rate has a decimal."""

_PRECISE_TIMES, _ROUGH_TIMES = 10.0, 100.0
"""Below the one two decimals mean something, below the other one does."""


def machine_words(machine: LoaderLimits) -> str:
    """CPU and what may be used of it."""
    quota = "" if machine.quota is None else f", quota {machine.quota:g}"
    memory = f"; {bytes_words(machine.memory_bytes)} of memory" if machine.memory_bytes else ""
    return f"{machine.cpu} ({format_count(machine.cores, 'CPU')}{quota}){memory}"


def moment_words(report: BenchReport) -> str:
    """When, how thoroughly and how long."""
    date, _, rest = report.measured_at.partition("T")
    return f"{date} {rest[:5]} UTC, {report.effort}, {seconds_words(report.seconds)}".replace("  ", " ")


def images_words(workload: Workload) -> str:
    """What is measured: how many, of which formats and sizes, where."""
    formats = ", ".join(f"{number} {name}" for name, number in workload.formats.items())
    place = f"; {place_words(workload.filesystem)}" if workload.filesystem is not None else ""
    found = f" of {workload.files} files" if workload.files != workload.images else ""
    return (
        f"{format_count(workload.images, 'image')}{found} ({formats}), {workload.width} x {workload.height} (median), "
        f"{workload.megapixels:.3g} megapixels and {bytes_words(workload.mean_bytes)} each (mean){place}"
    )


def brief_images_words(workload: Workload) -> str:
    """The same in half a line, for a picture."""
    formats = ", ".join(f"{number} {name}" for name, number in workload.formats.items())
    size = f"{workload.width} x {workload.height}, {bytes_words(workload.mean_bytes)}"
    return f"{format_count(workload.images, 'image')} ({formats}), {size}"


def place_words(filesystem: Filesystem) -> str:
    """Where files lie, as far as it matters to a loader."""
    kind = "network filesystem" if filesystem.network else "in memory" if filesystem.memory else _name_disk(filesystem)
    return f"{filesystem.type}, {kind}"


def describe_left_out_images(unmeasured: Unmeasured) -> str:
    """Images that were left out for one reason, with some of their names."""
    names = ", ".join(unmeasured.examples[:_EXAMPLES])
    more = ", ..." if unmeasured.count > min(len(unmeasured.examples), _EXAMPLES) and names else ""
    return f"{unmeasured.count} {unmeasured.reason}" + (f": {names}{more}" if names else "")


def pipeline_words(pipeline: ImagePipeline) -> str:
    """What is done to every image."""
    crop = f", crop {pipeline.crop}" if pipeline.crop else ""
    return f"decode, shorter side to {pipeline.shorter} ({pipeline.filter}){crop}"


def gain_words(gain: Gain) -> str:
    """How many times as fast, and within which bounds: "1.92x (1.88-1.95)"."""
    low, high = (times_words(each).removesuffix("x") for each in (gain.low, gain.high))
    bounds = "" if gain.low == gain.high else f" ({low}-{high})"
    return f"{times_words(gain.ratio)}{bounds}"


def times_words(ratio: float) -> str:
    """How many times, with no more digits than mean something: "1.92x", "24.1x", "189x"."""
    digits = 2 if ratio < _PRECISE_TIMES else 1 if ratio < _ROUGH_TIMES else 0
    return f"{ratio:.{digits}f}x"


def rate_words(images_per_second: float) -> str:
    """Images per second, with no more digits than mean something."""
    return f"{images_per_second:.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"


def bytes_words(number: int) -> str:
    """A size in the unit that suits it: "45 kB", "4.9 GB"."""
    size, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < _KILO:
            break
        size, unit = size / _KILO, larger
    return f"{size:.3g} {unit}" if size < _KILO else f"{size:.0f} {unit}"


def seconds_words(seconds: float) -> str:
    """A length of time: "18 s", "4 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def difference_words(result: CandidateResult) -> str:
    """How far the pixels lie from the baseline's, and whether the resize is known to alias."""
    far = "" if result.difference is None else _format_difference(result.difference)
    return " ".join(word for word in (far, "aliased" if result.candidate.aliased else "") if word)


def size_words(result: CandidateResult) -> str:
    """What a store takes: "4.9 GB, 13.9x"; nothing for files."""
    if result.stored_bytes is None:
        return ""
    ratio = "" if result.stored_ratio is None else f", {result.stored_ratio:.3g}x"
    return bytes_words(result.stored_bytes) + ratio


def memory_words(result: CandidateResult) -> str:
    """The most memory that its process had."""
    return bytes_words(result.timing.peak_bytes) if result.timing is not None and result.timing.peak_bytes else ""


def select_measured(results: Iterable[CandidateResult]) -> list[CandidateResult]:
    """Select the measured results, in their order."""
    return [each for each in results if each.outcome is CandidateOutcome.MEASURED and each.timing is not None]


def describe_unmeasured(results: Iterable[CandidateResult]) -> Iterator[tuple[str, str]]:
    """The name of each that was not measured, and why."""
    for each in results:
        if each.outcome is not CandidateOutcome.MEASURED or each.timing is None:
            yield name_words(each.candidate), f"{each.outcome}: {each.reason}" if each.reason else str(each.outcome)


def find_best_warm_rate(result: CandidateResult) -> LoadingRate | None:
    """The best of its rates with workers and a warm page cache."""
    rates = [each for each in result.rates if each.workers and not each.cold]
    return max(rates, key=lambda each: each.images_per_second, default=None)


def rate_with(result: CandidateResult, workers: LoadingRate | None) -> str:
    """Its images per second with as many workers, started in the same way; empty if that was not measured."""
    if workers is None:
        return ""
    manner = (workers.workers, workers.start, workers.cold)
    alike = (each for each in result.rates if (each.workers, each.start, each.cold) == manner)
    return next((rate_words(each.images_per_second) for each in alike), "")


def name_words(candidate: Candidate) -> str:
    """By which flags know it; of several at once, which ones."""
    return candidate.title if candidate.kind is CandidateKind.TOGETHER else candidate.name


def versions_words(result: CandidateResult) -> str:
    """Of the packages that took part."""
    return ", ".join(f"{name} {version}" for name, version in result.versions.items())


def start_words(rate: LoadingRate) -> str:
    """How its workers came to be, and whether the files had to come from the disk."""
    cache = "cold" if rate.cold else "warm"
    return cache if rate.start is WorkerStart.NONE else f"{rate.start}, {cache}"


def format_count(number: int, noun: str) -> str:
    """A number with its noun: "1 image", "3 images"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _name_disk(filesystem: Filesystem) -> str:
    return {True: "turning disk", False: "solid-state disk", None: "disk"}[filesystem.rotational]


def _format_difference(difference: Difference) -> str:
    if not difference.same_shape:
        return "another shape"
    return "none" if difference.highest == 0 else f"{difference.mean:.2f} / {difference.highest}"


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
        table.add_row(*(Text(row[number], _choose_style(row[number], page)) for number in kept))
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


def _choose_style(text: str, page: Page) -> str:
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
    lines = [
        *page.lines(title, rest="  ", style="bold"),
        *page.lines(summarize_operations(table), first="  ", rest="    "),
    ]
    lines += table_lines(columns, [_make_operation_row(each) for each in shown], page)
    if len(shown) < len(rows):
        lines.append(f"  ... and {len(rows) - len(shown)} between them: --verbose, --json or --html FILE")
    losses = [f"{row.operation} ({ratio_of(row):.2f}x)" for row in rows if ratio_of(row) < 1 - SAME]
    if losses:
        lines += page.lines(f"slower: {', '.join(losses)}", first="  ", rest="    ")
    return lines


def summarize_operations(table: SpeedTable) -> str:
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


def _make_operation_row(row: SpeedRow) -> tuple[str, ...]:
    ratio = ratio_of(row)
    bounds = "" if row.low is None or row.high is None else f" ({row.low:.2f}-{row.high:.2f})"
    return row.operation, f"{row.before_ms:.2f}", f"{row.after_ms:.2f}", f"{ratio:.2f}x{bounds}"
