"""What limits the loading of images, by what was measured of the baseline. Pure.

Every stage belongs to a group. What worker processes lose in handing their batches over is no stage: it is what one
worker takes longer than the process that loads by itself, and counts as copying.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.bench import adoption as words
from fastinstall.bench.report import (
    BottleneckVerdict,
    CandidateResult,
    LoadingEngine,
    LoadingLimit,
    LoadingRate,
    Stage,
    Timing,
    WorkerStart,
    Workload,
)
from fastinstall.model.machine import LoaderLimits

_GROUPS = {
    Stage.READ: LoadingLimit.IO,
    Stage.DECODE: LoadingLimit.DECODE,
    Stage.CONVERT: LoadingLimit.RESIZE,
    Stage.RESIZE: LoadingLimit.RESIZE,
    Stage.CROP: LoadingLimit.RESIZE,
    Stage.ARRAY: LoadingLimit.COPY,
    Stage.TENSOR: LoadingLimit.COPY,
}
_WORK = {
    LoadingLimit.IO: "reading files",
    LoadingLimit.DECODE: "decoding",
    LoadingLimit.RESIZE: "converting and resizing",
    LoadingLimit.COPY: "copying arrays",
}
_PART_FOR_FILES = 0.5
"""Of the memory, what a page cache is left with: the rest is the training's own."""


def verdict_of(
    baseline: CandidateResult, workload: Workload, machine: LoaderLimits, target_rate: float | None
) -> BottleneckVerdict:
    """Tell what limits the loading: the slowest group of stages; nothing, where the target is reached.

    Args:
        baseline: the environment as it is, or the user's own loader.
        workload: the images, and how many files were found.
        machine: where it was measured.
        target_rate: images per second that training consumes, or None if not given.
    """
    timing = baseline.timing
    if timing is None:
        sentence = f"nothing was measured: {baseline.reason or baseline.outcome}"
        return BottleneckVerdict(bound=LoadingLimit.UNTOLD, sentence=sentence, target_rate=target_rate)
    is_cold = reads_from_disk(workload, machine)
    lost = _measure_worker_overhead(baseline, timing)
    groups = _group_stages(timing, lost, is_cold=is_cold)
    best = _find_reached_rate(baseline, timing, is_cold=is_cold)
    bound = max(groups, key=groups.__getitem__) if groups else LoadingLimit.UNTOLD
    if target_rate is not None and best.images_per_second >= target_rate:
        bound = LoadingLimit.FAST_ENOUGH
    shares = {group: f"{ms / (sum(groups.values()) or 1.0):.0%}" for group, ms in groups.items()}
    slowest_first = sorted(groups, key=lambda each: -groups[each])
    evidence = [f"{_WORK[each]}: {groups[each]:.2f} ms an image, {shares[each]}" for each in slowest_first]
    if groups and lost:
        evidence.append(f"of the copying, {lost:.2f} ms go into handing an image over from a worker process")
    evidence += _describe_files(baseline, timing, workload, machine)
    return BottleneckVerdict(
        bound=bound,
        sentence=_describe_bottleneck(bound, shares.get(bound, ""), best, target_rate),
        evidence=tuple(evidence),
        target_rate=target_rate,
        reached_rate=best.images_per_second,
    )


def _describe_bottleneck(bound: LoadingLimit, share: str, best: LoadingRate, target_rate: float | None) -> str:
    wanted = f", and {words.rate(target_rate)} are wanted" if target_rate is not None else ""
    reached = f"{words.describe_worker_rate(best)}{wanted}"
    if bound is LoadingLimit.FAST_ENOUGH:
        return reached
    if bound is LoadingLimit.UNTOLD:
        return f"{reached}; this loader is one piece, so what takes the time in it cannot be told apart"
    return f"{share} of the time goes into {_WORK[bound]}; {reached}"


def reads_from_disk(workload: Workload, machine: LoaderLimits) -> bool:
    """Whether the files are more than the page cache will hold, so that every epoch reads them anew."""
    in_memory = workload.filesystem is not None and workload.filesystem.memory
    return not in_memory and not stays_in_memory(workload.files * workload.mean_bytes, machine)


def stays_in_memory(size: float, machine: LoaderLimits) -> bool:
    """Whether the page cache will hold so many bytes, beside a training; True if the memory is unknown."""
    return not machine.memory_bytes or size <= machine.memory_bytes * _PART_FOR_FILES


def find_best_rate(rates: tuple[LoadingRate, ...], *, is_cold: bool = False) -> LoadingRate | None:
    """Return the highest rate measured with a cold (or a warm) page cache, or None if none was measured."""
    wanted = (rate for rate in rates if rate.cold == is_cold)
    return max(wanted, key=lambda rate: rate.images_per_second, default=None)


def _find_reached_rate(baseline: CandidateResult, timing: Timing, *, is_cold: bool) -> LoadingRate:
    """The best with workers; from disk, the warm one with the time that a cold read takes longer where need be.

    Each worker waits for its own read. Where no workers were tried, it is the process itself.
    """
    measured_cold = find_best_rate(baseline.rates, is_cold=True)
    if is_cold and measured_cold is not None:
        return measured_cold
    warm = find_best_rate(baseline.rates) or LoadingRate(
        workers=0,
        start=WorkerStart.NONE,
        engine=LoadingEngine.OWN,
        cold=False,
        images_per_second=timing.images_per_second,
        first_batch_seconds=0.0,
    )
    if not is_cold:
        return warm
    read = sum(each.ms for each in timing.stages if each.stage is Stage.READ)
    longer = max(0.0, (timing.cold_read_ms or 0.0) - read)
    processes = max(1, warm.workers)
    slowed = processes * 1000 / (processes * 1000 / warm.images_per_second + longer)
    return replace(warm, images_per_second=slowed, cold=True)


def _measure_worker_overhead(baseline: CandidateResult, timing: Timing) -> float:
    """Return one worker's overhead in milliseconds per image; 0 if it was not measured.

    The two are compared as a loader has them, one after the other: collecting a batch is no handing over, and a machine
    whose speed drifts had another one when the stages were timed.
    """
    warm = sorted((each.images_per_second, each.workers) for each in baseline.rates if not each.cold)
    best = {workers: rate for rate, workers in warm if rate}
    return max(0.0, 1000 / best[1] - (1000 / best[0] if 0 in best else timing.ms)) if 1 in best else 0.0


def _group_stages(timing: Timing, lost: float, *, is_cold: bool) -> dict[LoadingLimit, float]:
    """Nothing for a loader of one piece, which reads, decodes and resizes in the one stage that it has."""
    if not any(each.stage is Stage.READ for each in timing.stages):
        return {}
    found = dict.fromkeys(_WORK, 0.0)
    for each in timing.stages:
        found[_GROUPS[each.stage]] += each.ms
    if is_cold and timing.cold_read_ms is not None:
        found[LoadingLimit.IO] = timing.cold_read_ms
    found[LoadingLimit.COPY] += lost
    return found


def _describe_files(
    baseline: CandidateResult, timing: Timing, workload: Workload, machine: LoaderLimits
) -> Iterator[str]:
    """Where they come from, as far as it matters."""
    if reads_from_disk(workload, machine):
        sizes = f"{words.size(workload.files * workload.mean_bytes)} of files, {words.size(machine.memory_bytes)}"
        yield f"{sizes} of memory: every epoch reads them from disk"
        if timing.cold_read_ms is None and find_best_rate(baseline.rates, is_cold=True) is None:
            yield "reading from disk could not be measured: the figures are of files in the page cache"
    if workload.filesystem is not None and workload.filesystem.network:
        yield f"the files lie on a network filesystem ({workload.filesystem.type}): the first epoch waits for it"
