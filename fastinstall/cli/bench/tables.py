"""The tables of a bench report, without the columns that have nothing in them."""

from collections.abc import Sequence
from dataclasses import replace

from fastinstall.bench.bottleneck import StageCost
from fastinstall.bench.report import CandidateResult, LoadingRate, WorkloadResult
from fastinstall.bench.wording import format_rate
from fastinstall.cli.bench import words
from fastinstall.cli.console import Page
from fastinstall.core.messages import format_bytes
from fastinstall.model.speed import SpeedRow

_INDENT = "  "
_WORDS = frozenset(("stage", "start", "candidate", "differs", "operation", "name", "what it is", "needs"))
"""Columns of words; the others hold figures."""


def stage_table(costs: Sequence[StageCost], page: Page) -> list[str]:
    """Return milliseconds and share of every stage, as the verdict counts them."""
    rows = [(each.name, f"{each.ms:.3f}", f"{each.share:.0%}") for each in costs]
    whole = sum(each.ms for each in costs)
    return render_table(("stage", "ms", "share"), [*rows, ("all", f"{whole:.3f}", "")], page)


def rate_table(rates: Sequence[LoadingRate], page: Page) -> list[str]:
    """Return images per second by number of workers, and how they start."""
    rows = [
        (
            str(each.workers),
            str(each.start),
            format_rate(each.images_per_second),
            f"{each.first_batch_seconds:.2f} s" if each.first_batch_seconds else "",
            format_bytes(each.peak_bytes) if each.peak_bytes else "",
        )
        for each in rates
    ]
    return render_table(("workers", "start", "images/s", "first batch", "memory"), rows, page)


def candidate_table(result: WorkloadResult, page: Page) -> list[str]:
    """Return the baseline, then whatever was measured against it."""
    workers = words.find_best_rate_with_workers(result.baseline.rates)
    head = words.format_count(workers.workers, "worker") if workers is not None else ""
    shown = words.select_measured((result.baseline, *result.candidates))
    columns = ("candidate", "gain", "images/s", head, "memory", "differs")
    return render_table(columns, [_list_candidate_cells(each, workers) for each in shown], page)


def operation_table(rows: Sequence[SpeedRow], page: Page) -> list[str]:
    """Return operations of PIL, before and after."""
    return render_table(("operation", "before ms", "after ms", "faster"), list(map(_list_operation_cells, rows)), page)


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]], page: Page) -> list[str]:
    """Return a table with a head, indented; words are broken where the page is narrow, figures never."""
    kept = [number for number, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    names, cells = [head[number] for number in kept], [[row[number] for number in kept] for row in rows]
    right = [number for number, name in enumerate(names) if name not in _WORDS]
    inner = replace(page, width=page.width - len(_INDENT)) if page.width is not None else page
    return [f"{_INDENT}{line}" for line in inner.table(names, cells, right)]


def _list_candidate_cells(result: CandidateResult, workers: LoadingRate | None) -> tuple[str, ...]:
    timing = result.timing
    return (
        _name(result),
        words.gain_words(result.gain) if result.gain is not None else "",
        format_rate(timing.images_per_second) if timing is not None else "",
        words.format_rate_with_workers(result, workers),
        format_bytes(timing.peak_bytes) if timing is not None and timing.peak_bytes else "",
        words.difference_words(result),
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


def _list_operation_cells(row: SpeedRow) -> tuple[str, ...]:
    bounds = "" if row.low is None or row.high is None else f" ({row.low:.2f}-{row.high:.2f})"
    return row.operation, f"{row.before_ms:.2f}", f"{row.after_ms:.2f}", f"{row.ratio:.2f}x{bounds}"
