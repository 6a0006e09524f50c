"""The figures of a bench report as CSV: one tidy table, a line for each figure.

Lines and quoting follow RFC 4180. A text that a spreadsheet would take for a formula, as the name of a file may be,
gets an apostrophe in front of it. Source: OWASP, "CSV Injection".
"""

import csv
import io
from collections.abc import Iterable, Iterator

from fastinstall.bench.report import (
    BenchReport,
    BottleneckVerdict,
    CandidateResult,
    Gain,
    LoadingRate,
    Timing,
    Workload,
    WorkloadResult,
)
from fastinstall.cli.bench.words import ratio_of
from fastinstall.cli.console import strip_control_characters
from fastinstall.model.machine import LoaderLimits
from fastinstall.model.receipt import SpeedTable

COLUMNS = (
    "workload",
    "section",
    "name",
    "metric",
    "value",
    "unit",
    "low",
    "high",
    "workers",
    "start",
    "cache",
    "note",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_RATE = "images/s"
Row = dict[str, object]


def bench_csv(report: BenchReport) -> str:
    """The table, with a head."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, restval="")
    writer.writeheader()
    for row in _rows(report):
        writer.writerow({column: _cell(row.get(column, "")) for column in COLUMNS})
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = strip_control_characters(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def _rows(report: BenchReport) -> Iterator[Row]:
    yield {"section": "report", "name": str(report.prefix), "metric": "time", "value": report.seconds, "unit": "s"}
    yield {"section": "report", "metric": "measured at", "value": report.measured_at, "note": report.effort}
    yield {"section": "report", "metric": "fastinstall", "value": report.tool_version}
    yield {"section": "report", "metric": "python", "value": report.python}
    yield from _machine_rows(report.machine)
    for result in report.workloads:
        for row in _workload_rows(result):
            yield {"workload": result.workload.name, **row}
    if report.operations is not None:
        yield from _operation_rows(report.operations)
    for remark in report.remarks:
        yield {"section": "remark", "note": remark}


def _machine_rows(machine: LoaderLimits) -> Iterator[Row]:
    yield {"section": "machine", "name": machine.cpu, "metric": "CPUs", "value": machine.cores}
    yield {"section": "machine", "metric": "quota", "value": machine.quota, "unit": "CPUs"}
    yield {"section": "machine", "metric": "memory", "value": machine.memory_bytes, "unit": "B"}
    yield {"section": "machine", "metric": "huge pages", "value": machine.huge_pages}
    yield {"section": "machine", "metric": "GLIBC_TUNABLES", "value": machine.tunables}


def _workload_rows(result: WorkloadResult) -> Iterator[Row]:
    yield from _image_rows(result.workload)
    yield _verdict_row(result.verdict)
    for each in (result.baseline, *result.candidates):
        yield from _result_rows(each)
    for advice in result.advice:
        command = advice.finding.remedy.command if advice.finding.remedy is not None else None
        told = f"{advice.finding.message}; {command}" if command else advice.finding.message
        yield {"section": "advice", "name": advice.candidate, "metric": "gain", **_bounds(advice.gain), "note": told}


def _image_rows(workload: Workload) -> Iterator[Row]:
    figures: Iterable[tuple[str, object, str]] = (
        ("files found", workload.files, ""),
        ("measured", workload.images, ""),
        ("mean size", workload.mean_bytes, "B"),
        ("mean area", workload.megapixels, "megapixels"),
        ("median width", workload.width, "pixels"),
        ("median height", workload.height, "pixels"),
        *((f"of format {name}", number, "") for name, number in workload.formats.items()),
    )
    for metric, value, unit in figures:
        yield {"section": "images", "metric": metric, "value": value, "unit": unit}
    for each in workload.unmeasured:
        told = "; ".join(each.examples)
        yield {"section": "left out", "name": each.reason, "metric": "files", "value": each.count, "note": told}


def _verdict_row(verdict: BottleneckVerdict) -> Row:
    return {
        "section": "verdict",
        "name": verdict.bound,
        "metric": "reached rate",
        "value": verdict.reached_rate,
        "unit": _RATE,
        "note": verdict.sentence,
    }


def _result_rows(result: CandidateResult) -> Iterator[Row]:
    name = {"name": result.candidate.name}
    told = "aliased" if result.candidate.aliased else ""
    reason = result.reason or told
    yield {"section": "candidate", **name, "metric": "outcome", "value": result.outcome, "note": reason}
    if result.timing is not None:
        for row in _timing_rows(result.timing):
            yield {**name, **row}
    if result.gain is not None:
        yield {"section": "candidate", **name, "metric": "gain", **_bounds(result.gain)}
    for rate in result.rates:
        yield {"section": "workers", **name, **_rate_row(rate)}
    for metric, value, unit in _quality(result):
        if value is not None:
            yield {"section": "candidate", **name, "metric": metric, "value": value, "unit": unit}


def _timing_rows(timing: Timing) -> Iterator[Row]:
    for stage in timing.stages:
        yield {"section": "stage", "metric": stage.stage, "value": stage.ms, "unit": "ms"}
    yield {"section": "candidate", "metric": "time", "value": timing.ms, "unit": "ms"}
    yield {"section": "candidate", "metric": "rate", "value": timing.images_per_second, "unit": _RATE}
    yield {"section": "candidate", "metric": "memory", "value": timing.peak_bytes, "unit": "B"}
    if timing.cold_read_ms is not None:
        yield {"section": "stage", "metric": "read", "value": timing.cold_read_ms, "unit": "ms", "cache": "cold"}


def _quality(result: CandidateResult) -> Iterator[tuple[str, object, str]]:
    difference = result.difference
    if difference is not None and difference.same_shape:
        yield "mean difference", difference.mean, "levels"
        yield "greatest difference", difference.highest, "levels"
    yield "stored", result.stored_bytes, "B"
    yield "stored against files", result.stored_ratio, "x"
    yield "cannot load", result.left_out or None, "images"


def _rate_row(rate: LoadingRate) -> Row:
    return {
        "metric": "rate",
        "value": rate.images_per_second,
        "unit": _RATE,
        "workers": rate.workers,
        "start": rate.start,
        "cache": "cold" if rate.cold else "warm",
        "note": rate.engine,
    }


def _bounds(gain: Gain | None) -> Row:
    return {} if gain is None else {"value": gain.ratio, "unit": "x", "low": gain.low, "high": gain.high}


def _operation_rows(table: SpeedTable) -> Iterator[Row]:
    for each in table.rows:
        name = {"section": "operation", "name": each.operation}
        yield {**name, "metric": "before", "value": each.before_ms, "unit": "ms", "note": table.baseline}
        yield {**name, "metric": "after", "value": each.after_ms, "unit": "ms", "note": table.candidate}
        yield {**name, "metric": "gain", "value": ratio_of(each), "unit": "x", "low": each.low, "high": each.high}
    yield {"section": "operation", "metric": "geometric mean", "value": table.geomean, "unit": "x"}
