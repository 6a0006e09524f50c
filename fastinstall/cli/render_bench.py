"""The report of `bench` as text: for each workload the verdict, what it rests on, and what to do about it."""

from collections.abc import Iterator

from fastinstall.cli.bench_words import (
    images_words,
    left_out_words,
    machine_words,
    moment_words,
    pipeline_words,
    unmeasured_words,
)
from fastinstall.cli.page import Page, joined
from fastinstall.cli.render_bench_advice import advice_lines, first_advice
from fastinstall.cli.render_bench_figures import candidate_lines, legend_lines, rate_lines, rates_brief, stage_lines
from fastinstall.cli.render_bench_operations import operation_lines
from fastinstall.model.bench import BenchReport, Bound, WorkloadResult

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
    lines = list(_head(report, page))
    for result in report.workloads:
        lines += ["", *_workload_lines(result, page, brief=brief, unicode=unicode)]
    lines += _after_a_gap(legend_lines(report.workloads, page))
    if report.operations is not None:
        lines += ["", *operation_lines(report.operations, page, brief=brief)]
    lines += _after_a_gap([line for each in report.remarks for line in page.lines(each, first="note: ", rest="      ")])
    if not brief and report.workloads and len(lines) > _LONG:
        lines += ["", page.paint("in short", "bold"), *_brief_lines(report, page)]
    return joined(lines)


def bench_brief(report: BenchReport, page: Page) -> str:
    """What --quiet says: of each workload the verdict and the first advice."""
    return joined(_brief_lines(report, page))


def _brief_lines(report: BenchReport, page: Page) -> Iterator[str]:
    for result in report.workloads:
        verdict = f"{result.workload.name}: {result.verdict.bound}: {result.verdict.sentence}"
        yield from page.lines(verdict, rest="  ")
        yield from first_advice(result.advice, page)
    if report.operations is not None:
        table = report.operations
        told = f"operations: {table.geomean:.2f}x, {table.candidate} against {table.baseline}"
        yield from page.lines(told, rest="  ")


def _head(report: BenchReport, page: Page) -> Iterator[str]:
    yield from page.lines(f"{report.prefix} (Python {report.python})", rest="  ", style="bold")
    yield from page.lines(machine_words(report.machine), first="  ", rest="    ")
    yield f"  {moment_words(report)}"


def _workload_lines(result: WorkloadResult, page: Page, *, brief: bool, unicode: bool) -> Iterator[str]:
    style = {Bound.FAST_ENOUGH: "ok", Bound.UNTOLD: "unknown"}.get(result.verdict.bound, "hint")
    yield from page.lines(f"{result.workload.name}: {result.verdict.bound}", rest="  ", style=style)
    yield from page.lines(result.verdict.sentence, first="  ", rest="  ")
    for line in () if brief else result.verdict.evidence:
        yield from page.lines(line, first="    ", rest="      ", style="dim")
    yield from page.lines(images_words(result.workload), first="  images: ", rest="    ")
    for each in page.shortened([left_out_words(each) for each in result.workload.unmeasured]):
        yield from page.lines(each, first="  left out: ", rest="    ")
    yield from page.lines(pipeline_words(result.pipeline), first="  each: ", rest="    ")
    for part in _parts(result, page, brief=brief, unicode=unicode):
        yield from _after_a_gap(part)


def _parts(result: WorkloadResult, page: Page, *, brief: bool, unicode: bool) -> Iterator[list[str]]:
    yield stage_lines(result.baseline, page, unicode=unicode)
    yield rates_brief(result.baseline, page) if brief else rate_lines(result.baseline, page, unicode=unicode)
    yield candidate_lines(result, page)
    yield list(_unmeasured_lines(result, page, brief=brief))
    yield advice_lines(result.advice, page, most=_FEW if brief else None)


def _unmeasured_lines(result: WorkloadResult, page: Page, *, brief: bool) -> Iterator[str]:
    """Each says what to do to have it measured; many of them are only named where the report is to be brief."""
    told = list(unmeasured_words(result.candidates))
    if brief and len(told) > _FEW:
        names = ", ".join(name for name, _ in told)
        yield from page.lines(f"not measured: {names}: --verbose tells why", first="  ", rest="    ")
        return
    if told:
        yield "  not measured"
    for name, reason in told:
        yield from page.advice(f"{name}: {reason}", first="    ", rest="      ")


def _after_a_gap(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []
