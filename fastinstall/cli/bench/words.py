"""Words and figures of a bench report."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from fastinstall.bench.report import (
    BenchReport,
    CandidateOutcome,
    CandidateResult,
    Gain,
    ImagePipeline,
    LoadingRate,
    Unmeasured,
    Workload,
)
from fastinstall.bench.wording import format_rate
from fastinstall.core.messages import format_bytes
from fastinstall.model.machine import Filesystem, LoaderLimits
from fastinstall.model.speed import SpeedRow, SpeedTable

_EXAMPLES = 3
_PRECISE_TIMES, _ROUGH_TIMES = 10.0, 100.0
"""Below the one two decimals mean something, below the other one does."""


def machine_words(machine: LoaderLimits) -> str:
    """Word the CPU, what may be used of it, and the memory."""
    quota = "" if machine.quota is None else f", quota {machine.quota:g}"
    memory = f"; {format_bytes(machine.memory_bytes)} of memory" if machine.memory_bytes else ""
    return f"{machine.cpu} ({format_count(machine.cores, 'CPU')}{quota}){memory}"


def moment_words(report: BenchReport) -> str:
    """Return when, how thoroughly and how long it was measured."""
    date, _, rest = report.measured_at.partition("T")
    minutes, seconds = divmod(round(report.seconds), 60)
    length = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{date} {rest[:5]} UTC, {report.effort}, {length}".replace("  ", " ")


def images_words(workload: Workload) -> str:
    """Return what is measured: how many, of which formats and sizes, where."""
    formats = ", ".join(f"{number} {name}" for name, number in workload.formats.items())
    place = f"; {place_words(workload.filesystem)}" if workload.filesystem is not None else ""
    found = f" of {workload.files} files" if workload.files != workload.images else ""
    return (
        f"{format_count(workload.images, 'image')}{found} ({formats}), {workload.width} x {workload.height} (median), "
        f"{workload.megapixels:.3g} megapixels and {format_bytes(workload.mean_bytes)} each (mean){place}"
    )


def place_words(filesystem: Filesystem) -> str:
    """Return where files lie, as far as it matters to a loader."""
    kind = "in memory" if filesystem.memory else "network filesystem" if filesystem.network else "disk"
    return f"{filesystem.type}, {kind}" if filesystem.type else kind


def describe_left_out_images(unmeasured: Unmeasured) -> str:
    """Return images that were left out for one reason, with some of their names."""
    names = ", ".join(unmeasured.examples[:_EXAMPLES])
    more = ", ..." if unmeasured.count > min(len(unmeasured.examples), _EXAMPLES) and names else ""
    return f"{unmeasured.count} {unmeasured.reason}" + (f": {names}{more}" if names else "")


def describe_reasons(workload: Workload) -> str:
    """Return how many images were left out for which reason: "4 truncated, 1 CMYK"."""
    return ", ".join(f"{each.count} {each.reason}" for each in workload.unmeasured)


def pipeline_words(pipeline: ImagePipeline) -> str:
    """Return what is done to every image."""
    crop = f", crop {pipeline.crop}" if pipeline.crop else ""
    return f"decode, shorter side to {pipeline.shorter} ({pipeline.filter}){crop}"


def gain_words(gain: Gain) -> str:
    """Return how many times as fast, and within which bounds: "1.92x (1.88-1.95)"."""
    low, high = (times_words(each).removesuffix("x") for each in (gain.low, gain.high))
    bounds = "" if gain.low == gain.high else f" ({low}-{high})"
    return f"{times_words(gain.ratio)}{bounds}"


def times_words(ratio: float) -> str:
    """Return how many times, with no more digits than mean something: "1.92x", "24.1x", "189x".

    >>> times_words(24.06)
    '24.1x'
    """
    digits = 2 if ratio < _PRECISE_TIMES else 1 if ratio < _ROUGH_TIMES else 0
    return f"{ratio:.{digits}f}x"


def difference_words(result: CandidateResult) -> str:
    """Return how far the pixels lie from the baseline's, and whether the resize is known to alias."""
    difference, far = result.difference, ""
    if difference is not None and not difference.same_shape:
        far = "another shape"
    elif difference is not None:
        far = f"{difference.mean:.2f} / {difference.highest}" if difference.highest else "none"
    return " ".join(word for word in (far, "aliased" if result.candidate.aliased else "") if word)


def select_measured(results: Iterable[CandidateResult]) -> list[CandidateResult]:
    """Select the measured results, in their order."""
    return [each for each in results if each.outcome is CandidateOutcome.MEASURED and each.timing is not None]


def describe_unmeasured(results: Iterable[CandidateResult]) -> Iterator[tuple[str, str]]:
    """Yield the name of each that was not measured, and why."""
    for each in results:
        if each.outcome is not CandidateOutcome.MEASURED or each.timing is None:
            yield each.candidate.name, f"{each.outcome}: {each.reason}" if each.reason else str(each.outcome)


def find_best_rate_with_workers(rates: Iterable[LoadingRate]) -> LoadingRate | None:
    """Find the best of some rates, with workers or threads."""
    return max((each for each in rates if each.workers), key=lambda each: each.images_per_second, default=None)


def format_rate_with_workers(rates: Iterable[LoadingRate], workers: LoadingRate | None) -> str:
    """Return images per second with as many workers or threads; empty if that was not measured."""
    if workers is None:
        return ""
    alike = (each for each in rates if each.workers == workers.workers)
    return next((format_rate(each.images_per_second) for each in alike), "")


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: "1 image", "3 images"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summarize_operations(table: SpeedTable) -> str:
    """Return how many are faster and slower beyond the noise, and the geometric mean."""
    faster, slower = len(table.faster), len(table.slower)
    same = len(table.rows) - faster - slower
    return (
        f"{faster} faster, {slower} slower, {same} the same within the noise of this machine; "
        f"geometric mean of these {len(table.rows)}: {table.geomean:.2f}x"
    )


def sort_operations(table: SpeedTable) -> list[SpeedRow]:
    """Sort operations, the fastest first."""
    return sorted(table.rows, key=attrgetter("ratio"), reverse=True)
