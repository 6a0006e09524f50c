"""A bench report as one self-contained HTML page: `page.html.jinja` and `page.css`, filled by jinja2.

Everything that comes from files and other people's metadata is escaped. Tables scroll within their own box, and bars
are inline SVG.

Text has a contrast of at least 4.5 to its background, the line of a bar one of at least 3. Source: WCAG 2.2, 1.4.3 and
1.4.11. The colours of stages are those of Okabe and Ito.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fastinstall.bench.report import BenchReport, CandidateResult, LoadingRate, Timing, WorkloadResult
from fastinstall.cli.bench import words
from fastinstall.cli.console import strip_control_characters
from fastinstall.core.values import immutable
from fastinstall.model.receipt import SpeedTable

_FIGURES = frozenset("0123456789")


@immutable
class Bar:
    """A field of a table that shows a value as a length.

    Attributes:
        value: what it shows.
        most: the greatest value among its neighbours.
        one: whether a line marks 1, and less than that has another colour.
    """

    value: float
    most: float
    one: bool = False


@immutable
class StageKey:
    """A field of a table with the colour of a stage before its name."""

    stage: str


Cell = str | Bar | StageKey


@immutable
class HtmlColumn:
    """The head of one, and whether there are figures alone below it, which stand to the right."""

    head: str
    is_figures: bool


@immutable
class HtmlTable:
    """One without the columns that have nothing in them."""

    columns: tuple[HtmlColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]


def bench_html(report: BenchReport) -> str:
    """The page."""
    loader = FileSystemLoader(Path(__file__).parent)
    jinja = Environment(
        loader=loader,
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tables = SimpleNamespace(
        stages=_tabulate_stages, rates=_tabulate_rates, candidates=_tabulate_candidates, operations=_tabulate_operations
    )
    return jinja.get_template("page.html.jinja", globals={"words": words, "tables": tables}).render(report=report)


def _finalize(value: object) -> object:
    """Text as a page takes it: nothing that would steer a terminal or the direction of writing."""
    return value if hasattr(value, "__html__") else strip_control_characters(str(value))


def _tabulate(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> HtmlTable:
    columns = [(head, cells) for head, cells in zip(heads, zip(*rows, strict=True), strict=True) if any(cells)]
    return HtmlTable(
        columns=tuple(HtmlColumn(head=head, is_figures=_is_figures(cells)) for head, cells in columns),
        rows=tuple(zip(*(cells for _, cells in columns), strict=True)),
    )


def _is_figures(cells: Iterable[Cell]) -> bool:
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    return bool(texts) and all(text[0] in _FIGURES for text in texts)


def _tabulate_stages(timing: Timing) -> HtmlTable:
    rows = [(StageKey(stage=str(each.stage)), f"{each.ms:.3f}", f"{each.share:.0%}") for each in timing.stages]
    return _tabulate(("stage", "ms", "share"), [*rows, ("all", f"{timing.ms:.3f}", "100%")])


def _tabulate_rates(rates: Sequence[LoadingRate]) -> HtmlTable:
    most = max(each.images_per_second for each in rates)
    return _tabulate(
        ("workers", "start, page cache", "images/s", "", "first batch", "memory"),
        [
            (
                str(each.workers),
                words.start_words(each),
                words.rate_words(each.images_per_second),
                Bar(value=each.images_per_second, most=most),
                f"{each.first_batch_seconds:.2f} s",
                words.bytes_words(each.peak_bytes) if each.peak_bytes else "",
            )
            for each in rates
        ],
    )


def _tabulate_candidates(result: WorkloadResult, others: Sequence[CandidateResult]) -> HtmlTable:
    workers = words.find_best_warm_rate(result.baseline)
    most = max((each.gain.high for each in others if each.gain is not None), default=1.0)
    head = words.format_count(workers.workers, "worker") if workers is not None else ""
    return _tabulate(
        ("candidate", "gain", "", "images/s", head, "memory", "pixels differ", "size", "what it is", "versions"),
        [
            (
                words.name_words(each.candidate),
                words.gain_words(each.gain) if each.gain is not None else "",
                Bar(value=each.gain.ratio, most=most, one=True) if each.gain is not None else "",
                words.rate_words(each.timing.images_per_second) if each.timing is not None else "",
                words.rate_with(each, workers),
                words.memory_words(each),
                words.difference_words(each),
                words.size_words(each),
                each.candidate.title,
                words.versions_words(each),
            )
            for each in (*words.select_measured((result.baseline,)), *others)
        ],
    )


def _tabulate_operations(operations: SpeedTable) -> HtmlTable:
    rows = sorted(operations.rows, key=words.ratio_of, reverse=True)
    most = max(map(words.ratio_of, rows), default=1.0)
    return _tabulate(
        ("operation", "before ms", "after ms", "faster", "", "rounds"),
        [
            (
                row.operation,
                f"{row.before_ms:.2f}",
                f"{row.after_ms:.2f}",
                f"{words.ratio_of(row):.2f}x",
                Bar(value=words.ratio_of(row), most=most, one=True),
                "" if row.low is None or row.high is None else f"{row.low:.2f}-{row.high:.2f}",
            )
            for row in rows
        ],
    )
