"""Find what limits loading images, from the baseline's measurements. Pure.

Every stage belongs to a group: I/O, decoding, resizing or copying. With one worker, an image takes longer than without
workers; the difference is the cost of handing an image over to the main process, and counts as copying.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from fastinstall.bench import report
from fastinstall.core.messages import format_bytes
from fastinstall.model.machine import LoaderLimits

_LIMITS = {
    "read": report.LoadingLimit.IO,
    "decode": report.LoadingLimit.DECODE,
    "convert": report.LoadingLimit.RESIZE,
    "resize": report.LoadingLimit.RESIZE,
    "crop": report.LoadingLimit.RESIZE,
    "array": report.LoadingLimit.COPY,
    "tensor": report.LoadingLimit.COPY,
}
"""The group of each stage of `_loading.py`; a group limits loading if its stages take most of the time."""
_WORK = {
    report.LoadingLimit.IO: "reading files",
    report.LoadingLimit.DECODE: "decoding",
    report.LoadingLimit.RESIZE: "converting and resizing",
    report.LoadingLimit.COPY: "copying arrays",
}
_PART_FOR_FILES = 0.5
"""The part of memory that the page cache can use; training needs the rest."""
_STANDS_OUT = 0.4
_AHEAD = 1.25
"""A group is the bottleneck if its share of the time is at least `_STANDS_OUT`, and `_AHEAD` times the next share."""
_PRECISE = 100
"""Rates below this are shown with one decimal."""


def verdict_of(
    baseline: report.Candidate, workload: report.Workload, machine: LoaderLimits, target_rate: float | None
) -> report.BottleneckVerdict:
    """Return what limits the loading: a group of stages that stands out, if any, or "fast enough" for the target rate.

    Args:
        baseline: the measurements of the environment as it is, or of the user's own loader.
        workload: the images, and the number of files found.
        machine: the limits of loaders on the measured machine.
        target_rate: images per second that training consumes, or None if not given.
    """
    is_from_disk = reads_from_disk(workload, machine)
    stages = _list_stage_costs(baseline, is_from_disk=is_from_disk)
    best = find_best_rate(baseline.rates)
    workers, reached = (best.workers, best.images_per_second) if best else (0, baseline.images_per_second)
    if is_from_disk and baseline.cold_read_ms is not None:  # the wait is not divided by workers: they share the disk
        longer = max(0.0, baseline.cold_read_ms - baseline.stages["read"])
        processes = max(1, workers) * 1000
        reached = processes / (processes / reached + longer)
    bound, where = _find_bottleneck(stages)
    if target_rate is not None and reached >= target_rate:
        bound, where = report.LoadingLimit.FAST_ENOUGH, ""
    wanted = f"; you need {format_rate(target_rate)}" if target_rate is not None else ""
    who = f"{workers} worker{'s load' if workers > 1 else ' loads'}" if workers else "one process loads"
    return report.BottleneckVerdict(
        bound=bound,
        sentence=f"{where}{who} {format_rate(reached)} images/s{wanted}",
        stages=stages,
        evidence=tuple(_describe_files(baseline, workload, machine)),
        target_rate=target_rate,
        reached_rate=reached,
    )


def _list_stage_costs(baseline: report.Candidate, *, is_from_disk: bool) -> tuple[report.StageCost, ...]:
    """Return the time of every measured stage, and, if one worker was measured, the time of handing an image over."""
    costs = [(name, _LIMITS[name], ms) for name, ms in baseline.stages.items()]
    if is_from_disk and baseline.cold_read_ms is not None:
        costs[0] = ("read from disk", report.LoadingLimit.IO, baseline.cold_read_ms)
    # The cost of handing over is the difference between two rates, not between a rate and the stages: both rates
    # include collecting batches, and are measured shortly after each other, so that the CPU's speed has not drifted.
    best = {rate.workers: rate for rate in sorted(baseline.rates, key=lambda rate: rate.images_per_second)}
    alone = best.get(0, baseline)
    if 1 in best and (lost := 1000 / best[1].images_per_second - 1000 / alone.images_per_second) > 0:
        costs.append(("hand over", report.LoadingLimit.COPY, lost))
    whole = sum(ms for _, _, ms in costs)
    return tuple(report.StageCost(name=name, limit=limit, ms=ms, share=ms / whole) for name, limit, ms in costs)


def _find_bottleneck(costs: Iterable[report.StageCost]) -> tuple[report.LoadingLimit, str]:
    """Return the group of stages that limits loading, and the beginning of a sentence that says so."""
    if not any(each.limit is report.LoadingLimit.IO for each in costs):
        return report.LoadingLimit.UNDETERMINED, "your loader runs as one piece, so its stages cannot be separated; "
    shares = Counter[report.LoadingLimit]()
    for each in costs:
        shares[each.limit] += each.share  # type: ignore[assignment]  # a Counter counts fractions too
    (first, share), (second, next_share) = shares.most_common(2)
    if share >= _STANDS_OUT and share >= _AHEAD * next_share:
        return first, f"{_WORK[first]} takes {share:.0%} of the time; "
    sentence = f"no stage stands out: {_WORK[first]} {share:.0%}, {_WORK[second]} {next_share:.0%}; "
    return report.LoadingLimit.UNDETERMINED, sentence


def reads_from_disk(workload: report.Workload, machine: LoaderLimits) -> bool:
    """Return whether the files are larger than the page cache, so that every epoch reads them from disk again."""
    in_memory = workload.filesystem is not None and workload.filesystem.memory
    size = workload.files * workload.mean_bytes
    return 0 < machine.memory_bytes * _PART_FOR_FILES < size and not in_memory


def _describe_files(baseline: report.Candidate, workload: report.Workload, machine: LoaderLimits) -> Iterator[str]:
    """Yield sentences about reading the files from disk or network, if that matters."""
    if reads_from_disk(workload, machine):
        files, memory = map(format_bytes, (workload.files * workload.mean_bytes, machine.memory_bytes))
        yield f"{files} of files, {memory} of memory: every epoch reads them from disk"
        if baseline.cold_read_ms is None:
            yield "reading from disk could not be measured: the figures apply to files in the page cache"
    if workload.filesystem is not None and workload.filesystem.network:
        yield f"the files are on a network filesystem ({workload.filesystem.type}): the first epoch waits for it"


def find_best_rate(rates: Iterable[report.LoadingRate]) -> report.LoadingRate | None:
    """Return the highest of some rates, or None if there are none."""
    return max(rates, key=lambda rate: rate.images_per_second, default=None)


def format_rate(images_per_second: float) -> str:
    """Format a number of images per second: with one decimal below 100, without decimals from 100."""
    return f"{images_per_second:,.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"
