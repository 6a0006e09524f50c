"""The report of `bench` as text: for each workload the verdict, its figures as tables, and what to do about it.

The tables are stages, rates by workers, and candidates. Advice comes in the order of what it gains, each with the
command to type. The candidates of `bench --list` are listed here too.
"""

from collections.abc import Iterator, Sequence

from fastinstall.bench.materials import PossibleCandidate
from fastinstall.bench.report import BenchReport, CandidateResult, LoadingLimit, SpeedAdvice, Timing, WorkloadResult
from fastinstall.cli.bench.tables import (
    candidate_table,
    operation_table,
    rate_table,
    stage_table,
    table_lines,
    word_table,
)
from fastinstall.cli.bench.words import (
    SAME,
    bytes_words,
    describe_left_out_images,
    describe_unmeasured,
    format_count,
    gain_words,
    images_words,
    machine_words,
    moment_words,
    pipeline_words,
    rate_words,
    ratio_of,
    select_measured,
    sort_operations,
    start_words,
    summarize_operations,
)
from fastinstall.cli.console import Page, join_lines
from fastinstall.model.receipt import SpeedTable

_QUICK = "quick"
_FEW = 3
"""Advice, and what was not measured, that is shown of a quick measurement."""
_LONG = 40
"""Lines, from which on a report has left the screen when it ends."""


def bench_text(report: BenchReport, page: Page, *, unicode: bool = True) -> str:
    """The whole report; where it is long, it ends with what it comes to.

    Args:
        report: what was measured.
        page: how it is laid out; wide tables are broken at its width.
        unicode: whether bars may be drawn with block characters.
    """
    brief = report.effort == _QUICK and not page.verbose
    lines = list(_render_head(report, page))
    for result in report.workloads:
        lines += ["", *_render_workload(result, page, brief=brief, unicode=unicode)]
    lines += _add_gap(legend_lines(report.workloads, page))
    if report.operations is not None:
        lines += ["", *operation_lines(report.operations, page, brief=brief)]
    lines += _add_gap([line for each in report.remarks for line in page.lines(each, first="note: ", rest="      ")])
    if not brief and report.workloads and len(lines) > _LONG:
        lines += ["", page.paint("in short", "bold"), *_render_brief(report, page)]
    return join_lines(lines)


def bench_brief(report: BenchReport, page: Page) -> str:
    """What --quiet says: of each workload the verdict and the first advice."""
    return join_lines(_render_brief(report, page))


def _render_brief(report: BenchReport, page: Page) -> Iterator[str]:
    for result in report.workloads:
        verdict = f"{result.workload.name}: {result.verdict.bound}: {result.verdict.sentence}"
        yield from page.lines(verdict, rest="  ")
        yield from first_advice(result.advice, page)
    if report.operations is not None:
        table = report.operations
        told = f"operations: {table.geomean:.2f}x, {table.candidate} against {table.baseline}"
        yield from page.lines(told, rest="  ")


def _render_head(report: BenchReport, page: Page) -> Iterator[str]:
    yield from page.lines(f"{report.prefix} (Python {report.python})", rest="  ", style="bold")
    yield from page.lines(machine_words(report.machine), first="  ", rest="    ")
    yield f"  {moment_words(report)}"


def _render_workload(result: WorkloadResult, page: Page, *, brief: bool, unicode: bool) -> Iterator[str]:
    style = {LoadingLimit.FAST_ENOUGH: "ok", LoadingLimit.UNTOLD: "unknown"}.get(result.verdict.bound, "hint")
    yield from page.lines(f"{result.workload.name}: {result.verdict.bound}", rest="  ", style=style)
    yield from page.lines(result.verdict.sentence, first="  ", rest="  ")
    for line in () if brief else result.verdict.evidence:
        yield from page.lines(line, first="    ", rest="      ", style="dim")
    yield from page.lines(images_words(result.workload), first="  images: ", rest="    ")
    for each in page.shortened([describe_left_out_images(each) for each in result.workload.unmeasured]):
        yield from page.lines(each, first="  left out: ", rest="    ")
    yield from page.lines(pipeline_words(result.pipeline), first="  each: ", rest="    ")
    for part in _render_workload_parts(result, page, brief=brief, unicode=unicode):
        yield from _add_gap(part)


def _render_workload_parts(result: WorkloadResult, page: Page, *, brief: bool, unicode: bool) -> Iterator[list[str]]:
    yield stage_lines(result.baseline, page, unicode=unicode)
    yield rates_brief(result.baseline, page) if brief else rate_lines(result.baseline, page, unicode=unicode)
    yield candidate_lines(result, page)
    yield list(_render_unmeasured(result, page, brief=brief))
    yield advice_lines(result.advice, page, most=_FEW if brief else None)


def _render_unmeasured(result: WorkloadResult, page: Page, *, brief: bool) -> Iterator[str]:
    """Each says what to do to have it measured; many of them are only named where the report is to be brief."""
    told = list(describe_unmeasured(result.candidates))
    if brief and len(told) > _FEW:
        names = ", ".join(name for name, _ in told)
        yield from page.lines(f"not measured: {names}: --verbose tells why", first="  ", rest="    ")
        return
    if told:
        yield "  not measured"
    for name, reason in told:
        yield from page.advice(f"{name}: {reason}", first="    ", rest="      ")


def _add_gap(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []


_LEGEND = {
    "gain": "gain: how many times as fast as the baseline, both in one process, in turn (least and greatest round)",
    "differs": "differs: mean / greatest difference of a channel from the baseline's picture, in levels of 0 to 255",
    "aliased": "aliased: its resize skips pixels; it is faster because it is not the same picture",
}


def stage_lines(result: CandidateResult, page: Page, *, unicode: bool) -> list[str]:
    """Milliseconds and share of every stage of the baseline, with bars; why not, where it was not measured."""
    timing = result.timing
    if timing is None:
        return list(page.lines(f"not measured: {result.outcome}: {result.reason}", first="  ", rest="    "))
    lines = table_lines(stage_table(timing), page, unicode=unicode)
    return [*lines, *page.lines(_summarize_timing(timing), first="  ", rest="    ")]


def _summarize_timing(timing: Timing) -> str:
    memory = f", {bytes_words(timing.peak_bytes)} of memory at most" if timing.peak_bytes else ""
    cold = timing.cold_read_ms
    told = f"{rate_words(timing.images_per_second)} images/s in one process{memory}"
    return told if cold is None else f"{told}; {cold:.3f} ms to read a file that is not in the page cache"


def rate_lines(result: CandidateResult, page: Page, *, unicode: bool) -> list[str]:
    """Images per second by number of workers, how they start, and page cache; empty if that was not measured."""
    if not result.rates:
        return []
    engines = dict.fromkeys(str(each.engine) for each in result.rates)
    lines = table_lines(rate_table(result.rates), page, unicode=unicode)
    return [*lines, *page.lines(f"by: {', '.join(engines)}", first="  ", rest="    ")]


def rates_brief(result: CandidateResult, page: Page) -> list[str]:
    """The same in a sentence; empty if that was not measured."""
    told = [
        f"{format_count(each.workers, 'worker')} ({start_words(each)}) {rate_words(each.images_per_second)}"
        for each in result.rates
    ]
    return list(page.lines(f"images/s by {', '.join(told)}", first="  ", rest="    ")) if told else []


def candidate_lines(result: WorkloadResult, page: Page) -> list[str]:
    """The baseline, then whatever was measured against it; empty if nothing was."""
    if not select_measured(result.candidates):
        return []
    baseline = f"baseline: {result.baseline.candidate.title}"
    return [*page.lines(baseline, first="  ", rest="    "), *table_lines(candidate_table(result), page)]


def legend_lines(results: Sequence[WorkloadResult], page: Page) -> list[str]:
    """What the columns of the candidates' tables mean, once for all workloads; empty if there is no such table."""
    shown = [each for result in results for each in select_measured(result.candidates)]
    words = {
        "gain": bool(shown),
        "differs": any(each.difference is not None for each in shown),
        "aliased": any(each.candidate.aliased for each in shown),
    }
    told = [_LEGEND[word] for word, needed in words.items() if needed]
    return [line for each in told for line in page.lines(each, rest="  ", style="dim")]


_FIRST, _LAST = 10, 5


def operation_lines(table: SpeedTable, page: Page, *, brief: bool) -> list[str]:
    """The table, the fastest first, and how many were won and lost.

    Args:
        table: what was measured.
        page: how it is laid out.
        brief: whether a few rows are enough; every one is shown where much is to be shown (--verbose).
    """
    rows = sort_operations(table)
    first, last = (_FEW, _FEW) if brief else (_FIRST, _LAST)
    shown = rows if page.verbose or len(rows) <= first + last + 1 else [*rows[:first], *rows[-last:]]
    title = f"operations of PIL: {table.candidate} against {table.baseline}"
    lines = [
        *page.lines(title, rest="  ", style="bold"),
        *page.lines(summarize_operations(table), first="  ", rest="    "),
        *table_lines(operation_table(shown), page),
    ]
    if len(shown) < len(rows):
        lines.append(f"  ... and {len(rows) - len(shown)} between them: --verbose, --json or --html FILE")
    losses = [f"{row.operation} ({ratio_of(row):.2f}x)" for row in rows if ratio_of(row) < 1 - SAME]
    if losses:
        lines += page.lines(f"slower: {', '.join(losses)}", first="  ", rest="    ")
    return lines


_BELOW = " " * 5


def advice_lines(advice: Sequence[SpeedAdvice], page: Page, *, most: int | None = None) -> list[str]:
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
        lines += page.lines(_render_one_advice(each), first=f"  {number}. ", rest=_BELOW)
        lines += _to_type(each, page, _BELOW)
    left_out = len(advice[most:]) if most is not None else 0
    return [*lines, f"  ... and {left_out} more: --verbose or --json"] if left_out else lines


def first_advice(advice: Sequence[SpeedAdvice], page: Page) -> list[str]:
    """Return the recommended one, else the first, or nothing if there is none."""
    first = next((each for each in advice if each.recommended), next(iter(advice), None))
    if first is None:
        return []
    return [*page.lines(_render_one_advice(first), first="  ", rest="    "), *_to_type(first, page, "  ")]


def _render_one_advice(advice: SpeedAdvice) -> str:
    gain = f"{gain_words(advice.gain)}: " if advice.gain is not None else ""
    begin = "begin here: " if advice.recommended else ""
    return begin + gain + advice.finding.message


def _to_type(advice: SpeedAdvice, page: Page, indent: str) -> Iterator[str]:
    """The line of code and the command, never broken, so that they can be pasted."""
    remedy = advice.finding.remedy
    if remedy is not None and remedy.text and remedy.text != advice.code:
        yield from page.lines(remedy.text, first=indent, rest=indent + "  ")
    for line in advice.code.splitlines():
        yield f"{indent}  {line}"
    if remedy is not None and remedy.command:
        yield f"{indent}  {page.paint(remedy.command, 'bold')}"


def candidates_text(known: Sequence[PossibleCandidate], page: Page) -> str:
    """Every candidate: its name, what it is, the packages that it needs."""
    titles = (("name", 20), ("what it is", 20), ("needs", 12))
    table = word_table(titles, [(each.name, each.title, ", ".join(each.requirements)) for each in known])
    hint = "what needs packages is measured where they are installed, or with --with NAME, which fetches them for this"
    return join_lines((*table_lines(table, page), *page.lines(hint, first="  ", rest="  ")))
