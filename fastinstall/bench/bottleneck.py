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
from fastinstall.core.values import immutable
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
    if baseline.timing is None:
        sentence = f"nothing was measured: {baseline.reason or baseline.outcome}"
        return BottleneckVerdict(bound=LoadingLimit.UNTOLD, sentence=sentence, target_rate=target_rate)
    seen = _collect_basis(baseline, baseline.timing, is_cold=reads_from_disk(workload, machine))
    return BottleneckVerdict(
        bound=_find_limit(seen, target_rate),
        sentence=_describe_bottleneck(seen, target_rate),
        evidence=(*_describe_shares(seen), *_describe_handover(seen), *_cache(seen, workload, machine)),
        target_rate=target_rate,
        reached_rate=seen.best.images_per_second,
    )


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


@immutable
class _VerdictBasis:
    """What a verdict rests on.

    Attributes:
        groups: milliseconds an image, by the limit that they stand for; empty if the loader is of one piece.
        handing_over: the part a worker loses in transfer, or None if not measured.
        best: the highest rate that is reached.
        is_cold: whether the files come from disk.
        was_cold: whether that was measured.
    """

    groups: dict[LoadingLimit, float]
    handing_over: float | None
    best: LoadingRate
    is_cold: bool
    was_cold: bool

    @property
    def slowest(self) -> LoadingLimit:
        return max(self.groups, key=self.groups.__getitem__) if self.groups else LoadingLimit.UNTOLD

    def share(self, group: LoadingLimit) -> float:
        return self.groups[group] / (sum(self.groups.values()) or 1.0)


def _collect_basis(baseline: CandidateResult, timing: Timing, *, is_cold: bool) -> _VerdictBasis:
    measured_cold = find_best_rate(baseline.rates, is_cold=True)
    warm = find_best_rate(baseline.rates) or _make_single_process_rate(timing)
    lost = _measure_worker_overhead(baseline, timing)
    return _VerdictBasis(
        groups=_group_stages(timing, lost or 0.0, is_cold=is_cold),
        handing_over=lost,
        best=(measured_cold or _estimate_cold_rate(warm, timing)) if is_cold else warm,
        is_cold=is_cold,
        was_cold=measured_cold is not None or timing.cold_read_ms is not None,
    )


def _make_single_process_rate(timing: Timing) -> LoadingRate:
    """The process itself, where no workers were tried."""
    return LoadingRate(
        workers=0,
        start=WorkerStart.NONE,
        engine=LoadingEngine.OWN,
        cold=False,
        images_per_second=timing.images_per_second,
        first_batch_seconds=0.0,
    )


def _estimate_cold_rate(warm: LoadingRate, timing: Timing) -> LoadingRate:
    """A warm rate with the time that a cold read takes longer, each worker waiting for its own."""
    longer = max(0.0, (timing.cold_read_ms or 0.0) - _read_ms(timing))
    processes = max(1, warm.workers)
    slowed = processes * 1000 / (processes * 1000 / warm.images_per_second + longer)
    return replace(warm, images_per_second=slowed, cold=True)


def _read_ms(timing: Timing) -> float:
    return sum(each.ms for each in timing.stages if each.stage is Stage.READ)


def _measure_worker_overhead(baseline: CandidateResult, timing: Timing) -> float | None:
    """Return one worker's overhead in milliseconds per image, or None if not measured.

    The two are compared as a loader has them, one after the other: collecting a batch is no handing over, and a machine
    whose speed drifts had another one when the stages were timed.
    """
    by_one, alone = (_find_warm_rate(baseline, workers) for workers in (1, 0))
    if not by_one:
        return None
    return max(0.0, 1000 / by_one - (1000 / alone if alone else timing.ms))


def _find_warm_rate(baseline: CandidateResult, workers: int) -> float:
    """Images per second with so many workers; 0 where that was not measured."""
    rates = (each for each in baseline.rates if each.workers == workers and not each.cold)
    return max((each.images_per_second for each in rates), default=0.0)


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


def _find_limit(seen: _VerdictBasis, target_rate: float | None) -> LoadingLimit:
    is_reached = target_rate is not None and seen.best.images_per_second >= target_rate
    return LoadingLimit.FAST_ENOUGH if is_reached else seen.slowest


def _describe_bottleneck(seen: _VerdictBasis, target_rate: float | None) -> str:
    bound = _find_limit(seen, target_rate)
    wanted = f", and {words.rate(target_rate)} are wanted" if target_rate is not None else ""
    reached = f"{words.describe_worker_rate(seen.best)}{wanted}"
    if bound is LoadingLimit.FAST_ENOUGH:
        return reached
    if bound is LoadingLimit.UNTOLD:
        return f"{reached}; this loader is one piece, so what takes the time in it cannot be told apart"
    return f"{words.percent(seen.share(bound))} of the time goes into {_WORK[bound]}; {reached}"


def _describe_shares(seen: _VerdictBasis) -> Iterator[str]:
    for group in sorted(seen.groups, key=lambda each: -seen.groups[each]):
        yield f"{_WORK[group]}: {seen.groups[group]:.2f} ms an image, {words.percent(seen.share(group))}"


def _describe_handover(seen: _VerdictBasis) -> Iterator[str]:
    if seen.groups and seen.handing_over:
        yield f"of the copying, {seen.handing_over:.2f} ms go into handing an image over from a worker process"


def _cache(seen: _VerdictBasis, workload: Workload, machine: LoaderLimits) -> Iterator[str]:
    if seen.is_cold:
        sizes = f"{words.size(workload.files * workload.mean_bytes)} of files, {words.size(machine.memory_bytes)}"
        yield f"{sizes} of memory: every epoch reads them from disk"
        if not seen.was_cold:
            yield "reading from disk could not be measured: the figures are of files in the page cache"
    if workload.filesystem is not None and workload.filesystem.network:
        yield f"the files lie on a network filesystem ({workload.filesystem.type}): the first epoch waits for it"
