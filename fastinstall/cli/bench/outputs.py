"""Files that `bench` writes: refused before the measurement where they cannot be written, written after it.

The figures as CSV are one tidy table, a line for each figure, quoted after RFC 4180. A text that a spreadsheet would
take for a formula, as the name of a file may be, gets an apostrophe in front of it. Source: OWASP, "CSV Injection".
"""

import csv
import importlib.util
import io
import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

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
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits
from fastinstall.model.receipt import SpeedTable


@immutable
class Outputs:
    """Where the results go, besides stdout.

    Attributes:
        csv: the table; None for none.
        chart: the picture; None for none.
        html: the page; None for none.
    """

    csv: Path | None = None
    chart: Path | None = None
    html: Path | None = None


def outputs_of(arguments: Namespace) -> Outputs:
    """What the flags ask for.

    Raises:
        UsageError: a file that cannot be written, a picture of another kind, or no matplotlib for a picture.
    """
    found = Outputs(
        csv=_parse_output_path("--csv", arguments.csv),
        chart=_parse_output_path("--chart", arguments.chart),
        html=_parse_output_path("--html", arguments.html),
    )
    if found.chart is not None:
        _refuse_chart(arguments.chart, found.chart)
    _refuse_twice([each for each in (found.csv, found.chart, found.html) if each is not None])
    return found


def write_outputs(report: BenchReport, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Write what was asked for, each file whole or not at all.

    Args:
        report: what was measured.
        outputs: where it goes.
        tell: hears the path of each.

    Raises:
        UsageError: a file could not be written.
    """
    for flag, path, make in _list_outputs(outputs):
        if path is not None:
            _write(flag, path, make(report))
            tell(f"{flag}: {path}")


def _list_outputs(outputs: Outputs) -> tuple[tuple[str, Path | None, Callable[[BenchReport], bytes]], ...]:
    return (
        ("--csv", outputs.csv, _render_csv),
        ("--chart", outputs.chart, _render_chart),
        ("--html", outputs.html, _render_html),
    )


def _render_csv(report: BenchReport) -> bytes:
    return bench_csv(report).encode("utf-8", "backslashreplace")


def _render_chart(report: BenchReport) -> bytes:
    from fastinstall.cli.bench.chart import bench_chart  # noqa: PLC0415 (matplotlib takes half a second)

    return bench_chart(report)


def _render_html(report: BenchReport) -> bytes:
    from fastinstall.cli.bench.html_page import bench_html  # noqa: PLC0415 (only with --html)

    return bench_html(report).encode("utf-8", "backslashreplace")


def _write(flag: str, path: Path, content: bytes) -> None:
    from fastinstall.core.files import write_bytes  # noqa: PLC0415 (only where something is written)

    try:
        write_bytes(path, content)
    except OSError as error:
        raise _make_unwritable_error(flag, path, error.strerror or str(error)) from None


def _parse_output_path(flag: str, text: str | None) -> Path | None:
    if not text:
        return None
    path = Path(text).expanduser().absolute()
    _refuse_file(flag, path)
    return path


def _refuse_file(flag: str, path: Path) -> None:
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise _make_unwritable_error(flag, path, "a directory" if path.is_dir() else "no regular file")
    if not path.parent.is_dir():
        raise _make_unwritable_error(flag, path, f"there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _make_unwritable_error(flag, path, f"{path.parent} cannot be written to")


def _refuse_chart(text: str, path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise UsageError(f"--chart {text}: it is a PNG picture", hint=f"--chart {path.stem}.png")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(
            "--chart needs matplotlib, which is not installed beside fastinstall",
            hint="pip install 'fastinstall[bench]', or --html FILE, which needs nothing",
        )


def _refuse_twice(paths: list[Path]) -> None:
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"{path} is named for two results, and can hold one", hint="give each its own file")


def _make_unwritable_error(flag: str, path: Path, problem: str) -> UsageError:
    return UsageError(f"{flag} {path}: {problem}", hint="name a file that can be written")


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
