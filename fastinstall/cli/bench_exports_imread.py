"""Results as files of imread_benchmark (ternaus/imread_benchmark), one for each library.

The form is that of its `benchmark_single.py` of 2026-04-23, the last one with a file for each library:
`SYSTEM/LIBRARY_1t_results.json`. Later versions write bundles that prove how they came about, which nobody else can
make for them. What its fields mean, and what they hold here:

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

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastinstall.bench.adapting import all_adapters
from fastinstall.cli.bench_words import measured
from fastinstall.model.bench import BenchReport, WorkloadResult
from fastinstall.model.loading import CandidateResult, Kind, Stage
from fastinstall.model.measured_machine import Machine

_PILLOW = "pillow"
_LACKS = "the copy of the whole picture into an array: read images_per_second as an upper bound"


def imread_benchmark_files(report: BenchReport, directory: Path) -> dict[Path, str]:
    """The files, below a directory for each workload; nothing where no workload is of JPEG alone."""
    files: dict[Path, str] = {}
    for result in report.workloads:
        if set(result.workload.formats) != {"JPEG"}:
            continue
        place = directory / _slug(result.workload.name) / _system(report.machine)
        for library, each in _comparable(result):
            content = _document(library, each, result, report)
            files[place / f"{library}_1t_results.json"] = json.dumps(content, indent=2) + "\n"
    return files


def _comparable(result: WorkloadResult) -> Iterator[tuple[str, CandidateResult]]:
    """Results that mean the same over there, with the library's name; images that cannot be loaded make them differ."""
    names = {each.name: each.imread_benchmark for each in all_adapters()}
    for each in measured((result.baseline, *result.candidates)):
        library = names.get(each.candidate.name, "")
        if each.candidate.kind is Kind.BASELINE and each.candidate.adapter == _PILLOW:
            library = _PILLOW
        if library and not each.left_out and _milliseconds(each, _stages_of(library)):
            yield library, each


def _document(library: str, each: CandidateResult, result: WorkloadResult, report: BenchReport) -> dict[str, Any]:
    images = result.workload.images
    return {
        "library": library,
        "mode": "memory",
        "run_tag": "1t",
        "requested_threads": 1,
        "effective_threads": 1,
        "system_info": {**_system_info(report), library: each.versions.get(library, "Unknown")},
        "benchmark_results": _results(_milliseconds(each, _stages_of(library)), images),
        "num_images": images,
        "num_runs": 1,
        "fastinstall": {
            "version": report.tool_version,
            "measured_at": report.measured_at,
            "stages": list(_stages_of(library)),
            "lacks": _LACKS if library == _PILLOW else "",
        },
    }


def _stages_of(library: str) -> tuple[Stage, ...]:
    """What is timed over there."""
    return (Stage.DECODE, Stage.CONVERT) if library == _PILLOW else (Stage.DECODE,)


def _milliseconds(each: CandidateResult, stages: tuple[Stage, ...]) -> float:
    found = each.timing.stages if each.timing is not None else ()
    return sum(stage.ms for stage in found if stage.stage in stages)


def _results(milliseconds: float, images: int) -> dict[str, Any]:
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


def _system_info(report: BenchReport) -> dict[str, Any]:
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


def _system(machine: Machine) -> str:
    return f"linux_{re.sub(r'[ /]', '-', machine.cpu)}"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "images"
