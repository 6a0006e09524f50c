"""Find what limits loading images, from the baseline's measurements. Pure.

Every stage belongs to a group. The extra time of one worker over the process itself is the cost of handing images
over, and counts as copying. The table of stages and the verdict use the same costs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from fastinstall.bench import report
from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

_GROUPS = {
    report.Stage.READ: report.LoadingLimit.IO,
    report.Stage.DECODE: report.LoadingLimit.DECODE,
    report.Stage.CONVERT: report.LoadingLimit.RESIZE,
    report.Stage.RESIZE: report.LoadingLimit.RESIZE,
    report.Stage.CROP: report.LoadingLimit.RESIZE,
    report.Stage.ARRAY: report.LoadingLimit.COPY,
    report.Stage.TENSOR: report.LoadingLimit.COPY,
}
_WORK = {
    report.LoadingLimit.IO: "reading files",
    report.LoadingLimit.DECODE: "decoding",
    report.LoadingLimit.RESIZE: "converting and resizing",
    report.LoadingLimit.COPY: "copying arrays",
}
_PART_FOR_FILES = 0.5
"""The part of memory available to the page cache: training needs the rest."""
_STANDS_OUT = 0.4
_AHEAD = 1.25
"""A group is the bottleneck with at least this share, and this multiple of the next share."""
_PRECISE = 100
"""Below this, a rate has a decimal."""


@immutable
class StageCost:
    """The cost of one stage per image.

    Attributes:
        name: of the stage, for people.
        limit: what limits loading if this stage takes most of it.
        ms: milliseconds that it takes for one image.
        share: of the total, 0 to 1.
    """

    name: str
    limit: report.LoadingLimit
    ms: float
    share: float


def list_stage_costs(
    baseline: report.CandidateResult, workload: report.Workload, machine: LoaderLimits
) -> tuple[StageCost, ...]:
    """Return the cost of every stage, from the images' real place, and of handing over; unmeasured ones are omitted.

    Args:
        baseline: the environment as it is, or the user's own loader.
        workload: the images, and how many files were found.
        machine: the limits of loaders on the measured machine.
    """
    timing = baseline.timing
    if timing is None:
        return ()
    costs = [(str(each.stage), _GROUPS[each.stage], each.ms) for each in timing.stages]
    if timing.cold_read_ms is not None and reads_from_disk(workload, machine):
        costs[0] = ("read from disk", report.LoadingLimit.IO, timing.cold_read_ms)
    # Compared with rates, not stages: collecting a batch is no handing over, and the CPU's speed may have drifted.
    best = {rate.workers: rate for rate in sorted(baseline.rates, key=lambda rate: rate.images_per_second)}
    alone_ms = 1000 / best[0].images_per_second if 0 in best else timing.ms
    if 1 in best and (lost := 1000 / best[1].images_per_second - alone_ms) > 0:
        costs.append(("hand over", report.LoadingLimit.COPY, lost))
    whole = sum(ms for _, _, ms in costs) or 1.0
    return tuple(StageCost(name=name, limit=limit, ms=ms, share=ms / whole) for name, limit, ms in costs)


def verdict_of(
    baseline: report.CandidateResult, workload: report.Workload, machine: LoaderLimits, target_rate: float | None
) -> report.BottleneckVerdict:
    """Return what limits the loading: the group of stages that stands out; none if the target is reached.

    Args:
        baseline: the environment as it is, or the user's own loader.
        workload: the images, and how many files were found.
        machine: the limits of loaders on the measured machine.
        target_rate: images per second that training consumes, or None if not given.
    """
    timing = baseline.timing
    if timing is None:
        sentence = f"nothing was measured: {baseline.reason or baseline.outcome}"
        return report.BottleneckVerdict(
            bound=report.LoadingLimit.UNDETERMINED, sentence=sentence, target_rate=target_rate
        )
    best = find_best_rate(baseline.rates) or report.LoadingRate(
        workers=0, engine=report.LoadingEngine.OWN, images_per_second=timing.images_per_second, first_batch_seconds=0.0
    )
    if reads_from_disk(workload, machine):  # each worker waits for its own read
        processes = max(1, best.workers) * 1000
        slowed = processes / (processes / best.images_per_second + measure_cold_delay(timing))
        best = replace(best, images_per_second=slowed)
    bound, where = _find_bottleneck(list_stage_costs(baseline, workload, machine))
    if target_rate is not None and best.images_per_second >= target_rate:
        bound, where = report.LoadingLimit.FAST_ENOUGH, ""
    wanted = f"; you need {format_rate(target_rate)}" if target_rate is not None else ""
    return report.BottleneckVerdict(
        bound=bound,
        sentence=f"{where}{describe_worker_rate(best)}{wanted}",
        evidence=tuple(_describe_files(timing, workload, machine)),
        target_rate=target_rate,
        reached_rate=best.images_per_second,
    )


def _find_bottleneck(costs: Iterable[StageCost]) -> tuple[report.LoadingLimit, str]:
    """Return the group that stands out, and the beginning of a sentence about it."""
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
    """Return whether the files exceed the page cache, so that every epoch reads them again."""
    in_memory = workload.filesystem is not None and workload.filesystem.memory
    size = workload.files * workload.mean_bytes
    return 0 < machine.memory_bytes * _PART_FOR_FILES < size and not in_memory


def measure_cold_delay(timing: report.Timing) -> float:
    """Return by how many milliseconds reading an image takes longer from disk; 0 if that was not measured."""
    read = sum(each.ms for each in timing.stages if each.stage is report.Stage.READ)
    return max(0.0, (timing.cold_read_ms or 0.0) - read)


def _describe_files(timing: report.Timing, workload: report.Workload, machine: LoaderLimits) -> Iterator[str]:
    """Yield where the files come from, if it matters."""
    if reads_from_disk(workload, machine):
        files, memory = map(format_bytes, (workload.files * workload.mean_bytes, machine.memory_bytes))
        yield f"{files} of files, {memory} of memory: every epoch reads them from disk"
        if timing.cold_read_ms is None:
            yield "reading from disk could not be measured: the figures apply to files in the page cache"
    if workload.filesystem is not None and workload.filesystem.network:
        yield f"the files are on a network filesystem ({workload.filesystem.type}): the first epoch waits for it"


def find_best_rate(rates: Iterable[report.LoadingRate]) -> report.LoadingRate | None:
    """Return the highest rate, or None if none was measured."""
    return max(rates, key=lambda rate: rate.images_per_second, default=None)


def format_rate(images_per_second: float) -> str:
    """Return images per second, with significant digits only."""
    return f"{images_per_second:,.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"


def describe_worker_rate(rate: report.LoadingRate) -> str:
    """Return who loads how much: "2 workers load 890 images/s"."""
    who = f"{rate.workers} worker{'s load' if rate.workers > 1 else ' loads'}" if rate.workers else "one process loads"
    return f"{who} {format_rate(rate.images_per_second)} images/s"
