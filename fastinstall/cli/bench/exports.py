"""The figures of a bench report in the forms of other programs: CSV, pillow-perf text, imread_benchmark files.

CSV is one tidy table, a line for each figure. Lines and quoting follow RFC 4180. A text that a spreadsheet would take
for a formula, as the name of a file may be, gets an apostrophe in front of it. Source: OWASP, "CSV Injection".

pillow-perf (python-pillow/pillow-perf) is the form of its `testsuite/run.py --json` of 2026-01-25, and of the results
in its `docs/src/data/*.txt`: for each Pillow a heading, for each suite its name with size and mode of the picture, a
line for each case, then the same as lists. What a line means:

- the name of the case; seconds of one call; megapixels of the picture *before* the operation, in a second.
- Seconds are the median of 11 runs in pillow-perf, and here the least of all rounds.
- Pictures are of 2560x1600 there by default, and of the size in the heading here: compare megapixels in a second, or
  run theirs with `--size 1920x1080`.

Only operations that are the same calls are written: resizing, conversions, flips and rotation, alpha_composite,
splitting and merging, a 3x3 filter, Gaussian blur. Suites `load` and `full_cycle` time files of their own, and are left
out.

imread_benchmark (ternaus/imread_benchmark) has one file for each library, in the form of its `benchmark_single.py` of
2026-04-23, the last one with a file for each: `SYSTEM/LIBRARY_1t_results.json`. Later versions write bundles that prove
how they came about, which nobody else can make for them. What its fields hold here:

- `mode` "memory": from bytes in memory to the whole picture as an array of RGB, without reading the file. Here that is
  the stage `decode` of one process, and with Pillow `convert`, too: what other libraries convert then is for a resize.
- `benchmark_results`: of runs over all images. Here there is one run, the mean over the images of the median over the
  passes; so a standard deviation is 0 and all percentiles are equal.
- `requested_threads` and `effective_threads`: 1; no library is given more in `bench`.
- `system_info`: "OS Version" and "Machine" as uname(2) says.

Only what means the same is written: libraries that decode to an array at once, and Pillow in place. Pillow's figure
lacks the copy of the whole picture into an array, because `bench` makes an array of what is left after the crop; the
file says so under "fastinstall". Left out: OpenCV (its change from BGR to RGB is not timed on the whole picture here),
whatever decodes at a reduced size, stores, settings, other stacks, and images other than JPEG.
"""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fastinstall.bench.catalogue import all_adapters
from fastinstall.bench.report import (
    BenchReport,
    BottleneckVerdict,
    CandidateKind,
    CandidateResult,
    Gain,
    LoadingRate,
    Stage,
    Timing,
    Workload,
    WorkloadResult,
)
from fastinstall.cli.bench.words import ratio_of, select_measured
from fastinstall.cli.console import strip_control_characters
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
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
    for row in _list_rows(report):
        writer.writerow({column: _format_cell(row.get(column, "")) for column in COLUMNS})
    return out.getvalue()


def _format_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = strip_control_characters(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def _list_rows(report: BenchReport) -> Iterator[Row]:
    yield {"section": "report", "name": str(report.prefix), "metric": "time", "value": report.seconds, "unit": "s"}
    yield {"section": "report", "metric": "measured at", "value": report.measured_at, "note": report.effort}
    yield {"section": "report", "metric": "fastinstall", "value": report.tool_version}
    yield {"section": "report", "metric": "python", "value": report.python}
    yield from _list_machine_rows(report.machine)
    for result in report.workloads:
        for row in _list_workload_rows(result):
            yield {"workload": result.workload.name, **row}
    if report.operations is not None:
        yield from _list_operation_rows(report.operations)
    for remark in report.remarks:
        yield {"section": "remark", "note": remark}


def _list_machine_rows(machine: LoaderLimits) -> Iterator[Row]:
    yield {"section": "machine", "name": machine.cpu, "metric": "CPUs", "value": machine.cores}
    yield {"section": "machine", "metric": "quota", "value": machine.quota, "unit": "CPUs"}
    yield {"section": "machine", "metric": "memory", "value": machine.memory_bytes, "unit": "B"}
    yield {"section": "machine", "metric": "huge pages", "value": machine.huge_pages}
    yield {"section": "machine", "metric": "GLIBC_TUNABLES", "value": machine.tunables}


def _list_workload_rows(result: WorkloadResult) -> Iterator[Row]:
    yield from _list_image_rows(result.workload)
    yield _make_verdict_row(result.verdict)
    for each in (result.baseline, *result.candidates):
        yield from _list_result_rows(each)
    for advice in result.advice:
        command = advice.finding.remedy.command if advice.finding.remedy is not None else None
        told = f"{advice.finding.message}; {command}" if command else advice.finding.message
        yield {
            "section": "advice",
            "name": advice.candidate,
            "metric": "gain",
            **_make_bounds(advice.gain),
            "note": told,
        }


def _list_image_rows(workload: Workload) -> Iterator[Row]:
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


def _make_verdict_row(verdict: BottleneckVerdict) -> Row:
    return {
        "section": "verdict",
        "name": verdict.bound,
        "metric": "reached rate",
        "value": verdict.reached_rate,
        "unit": _RATE,
        "note": verdict.sentence,
    }


def _list_result_rows(result: CandidateResult) -> Iterator[Row]:
    name = {"name": result.candidate.name}
    told = "aliased" if result.candidate.aliased else ""
    reason = result.reason or told
    yield {"section": "candidate", **name, "metric": "outcome", "value": result.outcome, "note": reason}
    if result.timing is not None:
        for row in _list_timing_rows(result.timing):
            yield {**name, **row}
    if result.gain is not None:
        yield {"section": "candidate", **name, "metric": "gain", **_make_bounds(result.gain)}
    for rate in result.rates:
        yield {"section": "workers", **name, **_make_rate_row(rate)}
    for metric, value, unit in _list_quality_figures(result):
        if value is not None:
            yield {"section": "candidate", **name, "metric": metric, "value": value, "unit": unit}


def _list_timing_rows(timing: Timing) -> Iterator[Row]:
    for stage in timing.stages:
        yield {"section": "stage", "metric": stage.stage, "value": stage.ms, "unit": "ms"}
    yield {"section": "candidate", "metric": "time", "value": timing.ms, "unit": "ms"}
    yield {"section": "candidate", "metric": "rate", "value": timing.images_per_second, "unit": _RATE}
    yield {"section": "candidate", "metric": "memory", "value": timing.peak_bytes, "unit": "B"}
    if timing.cold_read_ms is not None:
        yield {"section": "stage", "metric": "read", "value": timing.cold_read_ms, "unit": "ms", "cache": "cold"}


def _list_quality_figures(result: CandidateResult) -> Iterator[tuple[str, object, str]]:
    difference = result.difference
    if difference is not None and difference.same_shape:
        yield "mean difference", difference.mean, "levels"
        yield "greatest difference", difference.highest, "levels"
    yield "stored", result.stored_bytes, "B"
    yield "stored against files", result.stored_ratio, "x"
    yield "cannot load", result.left_out or None, "images"


def _make_rate_row(rate: LoadingRate) -> Row:
    return {
        "metric": "rate",
        "value": rate.images_per_second,
        "unit": _RATE,
        "workers": rate.workers,
        "start": rate.start,
        "cache": "cold" if rate.cold else "warm",
        "note": rate.engine,
    }


def _make_bounds(gain: Gain | None) -> Row:
    return {} if gain is None else {"value": gain.ratio, "unit": "x", "low": gain.low, "high": gain.high}


def _list_operation_rows(table: SpeedTable) -> Iterator[Row]:
    for each in table.rows:
        name = {"section": "operation", "name": each.operation}
        yield {**name, "metric": "before", "value": each.before_ms, "unit": "ms", "note": table.baseline}
        yield {**name, "metric": "after", "value": each.after_ms, "unit": "ms", "note": table.candidate}
        yield {**name, "metric": "gain", "value": ratio_of(each), "unit": "x", "low": each.low, "high": each.high}
    yield {"section": "operation", "metric": "geometric mean", "value": table.geomean, "unit": "x"}


_LARGE, _SMALL = (1920, 1080), (500, 375)
_RULE = "=" * 25


@immutable
class _Case:
    """One operation, as it is called over there.

    Attributes:
        arguments: of its case; what is before the seconds in a list.
        name: of its line.
    """

    arguments: tuple[str, ...]
    name: str


@immutable
class _Suite:
    """Operations on pictures of one size.

    Attributes:
        title: its name.
        size: width and height.
        mode: of the picture.
        cases: name of the operation here to what it is called there.
    """

    title: str
    size: tuple[int, int]
    mode: str = "RGB"
    cases: dict[str, _Case]


def pillow_perf_text(report: BenchReport) -> str:
    """The text; empty where no operation was measured that is one of theirs."""
    table = report.operations
    if table is None:
        return ""
    rows = [row for row in table.rows if row.before_ms and row.after_ms]
    before = list(_block(table, table.baseline, {row.operation: row.before_ms for row in rows}))
    after = list(_block(table, table.candidate, {row.operation: row.after_ms for row in rows}))
    return "\n".join((*before, "", *after, "")) if before and after else ""


def _block(table: SpeedTable, label: str, times: dict[str, float]) -> Iterator[str]:
    known = [suite for suite in _make_suites() if any(name in times for name in suite.cases)]
    if not known:
        return
    yield from (_RULE, f"{label}, {table.cpu}, {table.measured_at}", _RULE)
    for suite in known:
        yield from ("", f"{suite.title} {suite.size[0]}×{suite.size[1]} {suite.mode} image")  # noqa: RUF001 (theirs)
        found = [(case, times[name] / 1000) for name, case in suite.cases.items() if name in times]
        pixels = suite.size[0] * suite.size[1]
        for case, seconds in found:
            yield f"    {case.name:18} {seconds:8.5f} s {pixels / seconds / 1e6:8.2f} Mpx/s"
        yield ",\n".join(f"[{_format_arguments(case)}, {seconds!r}]" for case, seconds in found)


def _format_arguments(case: _Case) -> str:
    return ", ".join(f'"{each}"' for each in case.arguments)


def _make_suites() -> tuple[_Suite, ...]:
    return (
        _Suite(title="Scale", size=_LARGE, cases=_scale("RGB")),
        _Suite(title="Scale", size=_LARGE, mode="RGBA", cases=_scale("RGBA")),
        _Suite(title="Scale", size=_LARGE, mode="L", cases=_scale("L")),
        _Suite(
            title="Blur",
            size=_SMALL,
            cases={f"gaussian r{each} RGB": _make_single_case(f"{each}px") for each in (2, 5)},
        ),
        _Suite(title="Filter", size=_SMALL, cases={"filter 3x3 RGB": _make_single_case("Sharpen")}),
        _Suite(title="Convert", size=_LARGE, cases=_make_conversion_cases()),
        _Suite(title="Composition", size=_LARGE, cases={"alpha_composite": _make_single_case("Composition")}),
        _Suite(
            title="Rotate right",
            size=_LARGE,
            cases={name: _make_single_case(case) for name, case in _ROTATIONS.items()},
        ),
        _Suite(title="Allocate", size=_LARGE, cases={name: _make_single_case(case) for name, case in _BANDS.items()}),
    )


_FILTERS = {"bilinear": "bil", "bicubic": "bic", "lanczos": "lzs", "box": "box", "hamming": "hmn"}
_ROTATIONS = {"flip": "Flop", "flip upside down": "Flip", "rotate 90": "Rotate 90", "transpose": "Transpose"}
_BANDS = {"split": "split RGB", "getchannel": "get G of RGB", "merge": "merge RGB"}
_CONVERSIONS = ("RGB-L", "L-RGB", "RGB-RGBA", "RGBA-RGB", "RGBA-RGBa", "RGBa-RGBA", "RGB-CMYK", "CMYK-RGB", "RGB-YCbCr")


def _scale(mode: str) -> dict[str, _Case]:
    """The size is that of a shorter side of 256, as `bench` resizes 1080p."""
    return {
        f"resize 1080p-256 {mode} {name}": _Case(arguments=("455x256", short), name=f"to 455x256 {short}")
        for name, short in _FILTERS.items()
    }


def _make_conversion_cases() -> dict[str, _Case]:
    return {f"convert {each}": _make_single_case(each.replace("-", " to ")) for each in _CONVERSIONS}


def _make_single_case(name: str) -> _Case:
    return _Case(arguments=(name,), name=name)


_PILLOW = "pillow"
_LACKS = "the copy of the whole picture into an array: read images_per_second as an upper bound"


def imread_benchmark_files(report: BenchReport, directory: Path) -> dict[Path, str]:
    """The files, below a directory for each workload; nothing where no workload is of JPEG alone."""
    files: dict[Path, str] = {}
    for result in report.workloads:
        if set(result.workload.formats) != {"JPEG"}:
            continue
        place = directory / _make_slug(result.workload.name) / _name_system(report.machine)
        for library, each in _select_comparable(result):
            content = _make_library_document(library, each, result, report)
            files[place / f"{library}_1t_results.json"] = json.dumps(content, indent=2) + "\n"
    return files


def _select_comparable(result: WorkloadResult) -> Iterator[tuple[str, CandidateResult]]:
    """Results that mean the same over there, with the library's name; images that cannot be loaded make them differ."""
    names = {each.name: each.imread_benchmark for each in all_adapters()}
    for each in select_measured((result.baseline, *result.candidates)):
        library = names.get(each.candidate.name, "")
        if each.candidate.kind is CandidateKind.BASELINE and each.candidate.adapter == _PILLOW:
            library = _PILLOW
        if library and not each.left_out and _sum_milliseconds(each, _list_timed_stages(library)):
            yield library, each


def _make_library_document(
    library: str, each: CandidateResult, result: WorkloadResult, report: BenchReport
) -> dict[str, Any]:
    images = result.workload.images
    return {
        "library": library,
        "mode": "memory",
        "run_tag": "1t",
        "requested_threads": 1,
        "effective_threads": 1,
        "system_info": {**_make_system_info(report), library: each.versions.get(library, "Unknown")},
        "benchmark_results": _make_benchmark_results(_sum_milliseconds(each, _list_timed_stages(library)), images),
        "num_images": images,
        "num_runs": 1,
        "fastinstall": {
            "version": report.tool_version,
            "measured_at": report.measured_at,
            "stages": list(_list_timed_stages(library)),
            "lacks": _LACKS if library == _PILLOW else "",
        },
    }


def _list_timed_stages(library: str) -> tuple[Stage, ...]:
    """What is timed over there."""
    return (Stage.DECODE, Stage.CONVERT) if library == _PILLOW else (Stage.DECODE,)


def _sum_milliseconds(each: CandidateResult, stages: tuple[Stage, ...]) -> float:
    found = each.timing.stages if each.timing is not None else ()
    return sum(stage.ms for stage in found if stage.stage in stages)


def _make_benchmark_results(milliseconds: float, images: int) -> dict[str, Any]:
    rate, micros, whole = 1000 / milliseconds, milliseconds * 1000, milliseconds * images / 1000
    parts = ("mean", "p50", "p90", "p99")
    return {
        **{f"images_per_second_{part}": rate for part in parts},
        "images_per_second_std": 0.0,
        **{f"us_per_image_{part}": micros for part in parts},
        "raw_times_s": [whole],
        "raw_throughput_ips": [rate],
        "num_images_total": images,
        "num_images_decoded": images,
        "num_images_skipped": 0,
        "skip_rate": 0.0,
        "skip_indices": [],
        "skip_examples": [],
    }


def _make_system_info(report: BenchReport) -> dict[str, Any]:
    host = os.uname()
    return {
        "Python": report.python,
        "OS": host.sysname,
        "OS Version": host.version,
        "Machine": host.machine,
        "CPU": {
            "brand_raw": report.machine.cpu,
            "arch": host.machine.upper(),
            "hz_advertised_raw": "Unknown",
            "count": report.machine.cores,
        },
    }


def _name_system(machine: LoaderLimits) -> str:
    return f"linux_{re.sub(r'[ /]', '-', machine.cpu)}"


def _make_slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "images"


@immutable
class ResultFormat:
    """How another project writes its results.

    Attributes:
        half: the half of `bench` that it is made from, as --only names it.
        directory: whether it is several files in a directory; else one file.
        needs: what has to be in a report for there to be anything to write.
        make: from a report and the path that was named to files with their content; nothing where nothing fits.
    """

    half: str
    directory: bool
    needs: str
    make: Callable[[BenchReport, Path], dict[Path, str]]


def _export_imread(report: BenchReport, directory: Path) -> dict[Path, str]:
    return imread_benchmark_files(report, directory)


def _export_perf(report: BenchReport, file: Path) -> dict[Path, str]:
    text = pillow_perf_text(report)
    return {file: text} if text else {}


EXPORTS: dict[str, ResultFormat] = {
    "imread-benchmark": ResultFormat(
        half="loading",
        directory=True,
        needs="it holds decoders that make an array of a whole JPEG, timed on images that are all JPEG",
        make=_export_imread,
    ),
    "pillow-perf": ResultFormat(
        half="operations",
        directory=False,
        needs="it holds times of PIL's operations",
        make=_export_perf,
    ),
}
"""The forms that are known, by the name of the project."""


def export(form: str, report: BenchReport, path: Path) -> dict[Path, str]:
    """The files of one form.

    Args:
        form: name of one of `EXPORTS`.
        report: what was measured.
        path: the file or directory that was named.

    Raises:
        UsageError: nothing in the report means what the form means.
    """
    files = EXPORTS[form].make(report, path)
    if not files:
        raise UsageError(
            f"--export {form}={path}: nothing that was measured fits: {EXPORTS[form].needs}",
            hint=f"fastinstall bench --only {EXPORTS[form].half} --export {form}={path}",
        )
    return files
