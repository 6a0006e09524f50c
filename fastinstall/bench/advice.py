"""What to do about the loading of images, in the order of what was measured; then what workers need. Pure.

What changes the pictures, cannot load all of them, or does not fit on the disk is shown with its gain, and never
recommended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fastinstall.bench import adoption as words
from fastinstall.bench.adoption import AdviceContext, disk_need, ways_of
from fastinstall.bench.bottleneck import find_best_rate, reads_from_disk, stays_in_memory
from fastinstall.bench.report import (
    BottleneckVerdict,
    CandidateOutcome,
    CandidateResult,
    Gain,
    LoadingLimit,
    LoadingRate,
    SpeedAdvice,
    Stage,
    WorkerStart,
)
from fastinstall.model.finding import Remedy

_BEYOND_NOISE = 1.02


def advice_for(
    candidates: Sequence[CandidateResult], verdict: BottleneckVerdict, context: AdviceContext
) -> tuple[SpeedAdvice, ...]:
    """What helps, the largest gain first; then what starting workers takes.

    Where controls show that the machine was too busy, it says so first and recommends nothing.

    Args:
        candidates: everything that was tried.
        verdict: what limits the loading.
        context: what was compared with, where and for whom.
    """
    if context.baseline.timing is None:
        return ()
    found = [each for each in candidates if each.outcome is CandidateOutcome.MEASURED and each.gain is not None]
    measured, controls = [each for each in found if not each.is_control], [each for each in found if each.is_control]
    known = tuple(_tell_present_gain(measured))
    if verdict.bound is LoadingLimit.FAST_ENOUGH:
        return (*known, _advise_to_leave_fast_loading(measured, verdict), *_advise_persistent_workers(context))
    noise = max((each.gain.high for each in controls if each.gain), default=0.0)
    better = [each for each in measured if each.gain and is_worthwhile(each.gain, noise)]
    ranked = sorted((*(_make_advice(each, context) for each in better), *advice_on_workers(context)), key=_get_ratio)
    ranked.reverse()
    if disturbance := find_disturbance(controls):
        return (_tell_disturbance(disturbance, context), *ranked, *_advise_persistent_workers(context))
    alike = [each for each in measured if not flaws_of(each, context)]
    return (
        *known,
        *_advise_to_leave_pictures(measured, alike, noise),
        *_mark_recommendation(ranked, [each for each in alike if each in better], verdict),
        *_advise_persistent_workers(context),
    )


def is_worthwhile(gain: Gain, noise: float = 0.0) -> bool:
    """Whether a gain is more than noise, and more than the trouble.

    Args:
        gain: of a candidate.
        noise: the greatest gain of a control in any round.
    """
    return gain.ratio >= words.WORTHWHILE and gain.low > _BEYOND_NOISE and gain.ratio > noise


_WIDE = 1.5
"""The greatest round of a control as a multiple of the least, from which on ranges mean nothing."""


def find_disturbance(controls: Iterable[CandidateResult]) -> str:
    """Say how a control shows that ranges are unreliable: it is off 1.0 by more than its spread, or spread too wide.

    Args:
        controls: results of what cannot change anything.

    Returns:
        A sentence; empty if they are all as they should be.
    """
    for each in controls:
        gain = each.gain
        if gain is None:
            continue
        is_off = not gain.low <= 1.0 <= gain.high and abs(gain.ratio - 1) > words.WORTHWHILE - 1
        if is_off or gain.high > gain.low * _WIDE:
            return f"{each.candidate.name} cannot change anything here, and measured {words.times(gain)}"
    return ""


def _tell_disturbance(disturbance: str, context: AdviceContext) -> SpeedAdvice:
    message = "busy machine, ranges unreliable: nothing is recommended; run it again while nothing else runs"
    evidence = tuple(filter(None, (disturbance, context.busy)))
    return SpeedAdvice(candidate="", gain=None, finding=words.SAY.hint(message, evidence=evidence))


def _tell_present_gain(measured: Sequence[CandidateResult]) -> Iterator[SpeedAdvice]:
    """Say what the stack in place has brought already, where the official wheel is slower."""
    for each in measured:
        gain = each.gain
        if each.candidate.stack == "official wheel" and gain is not None and gain.high * words.WORTHWHILE <= 1:
            bounds = f"{1 / gain.high:.2f} to {1 / gain.low:.2f}"
            message = f"your build is already {1 / gain.ratio:.1f}x stock ({bounds}): {each.candidate.title}"
            yield SpeedAdvice(candidate=each.candidate.name, gain=None, finding=words.SAY.ok(message))


def _get_ratio(advice: SpeedAdvice) -> float:
    return advice.gain.ratio if advice.gain is not None else 0.0


def _make_advice(result: CandidateResult, context: AdviceContext) -> SpeedAdvice:
    """The gain stands beside the message, and is not said in it."""
    ways = ways_of(result, context)
    remedy = Remedy(
        text="; then ".join(way.text for way in ways) or result.candidate.title,
        command=" && ".join(way.command for way in ways) or None,
    )
    message = "; ".join((result.candidate.title, *flaws_of(result, context)))
    told = (words.times(result.gain),) if result.gain is not None else ()
    return SpeedAdvice(
        candidate=result.candidate.name,
        gain=result.gain,
        finding=words.SAY.hint(message, evidence=(*told, *evidence_of(result, context)), remedy=remedy),
        code="\n".join(way.code for way in ways if way.code),
    )


_NEARLY = 0.8
"""Of the greatest gain: what brings less is another gain, whatever the ranges."""


def choose_simplest(better: Sequence[CandidateResult]) -> CandidateResult | None:
    """Choose the simplest of those whose ranges reach into that of the greatest gain.

    Args:
        better: what is worth its trouble and has no flaw.
    """
    gains = [(each.gain, each) for each in better if each.gain is not None]
    if not gains:
        return None
    best, _ = max(gains, key=lambda each: each[0].ratio)
    rivals = [each for gain, each in gains if gain.ratio >= _NEARLY * best.ratio and gain.high >= best.low]
    return min(rivals, key=lambda each: (words.rank_simplicity(each.candidate), -_get_gain(each)))


def _get_gain(result: CandidateResult) -> float:
    return result.gain.ratio if result.gain is not None else 0.0


def _mark_recommendation(
    ranked: Sequence[SpeedAdvice], better: Sequence[CandidateResult], verdict: BottleneckVerdict
) -> Iterator[SpeedAdvice]:
    """Mark the simplest of the best without a flaw; say where it is all that is needed."""
    best = choose_simplest(better)
    for each in ranked:
        is_best = best is not None and each.candidate == best.candidate.name
        yield _recommend(each, best, verdict) if is_best and best else each


def _recommend(advice: SpeedAdvice, result: CandidateResult, verdict: BottleneckVerdict) -> SpeedAdvice:
    reached, target, message = rate_with(result, verdict), verdict.target_rate, advice.finding.message
    if target is not None and reached >= target:
        alone = f"this alone brings about {words.rate(reached)} images/s, and {words.rate(target)} are wanted"
        message = f"{message}; {alone}: the rest is not needed"
    return replace(advice, recommended=True, finding=replace(advice.finding, message=message))


def _advise_to_leave_fast_loading(measured: Sequence[CandidateResult], verdict: BottleneckVerdict) -> SpeedAdvice:
    reached, target = words.rate(verdict.reached_rate), words.rate(verdict.target_rate or 0.0)
    message = f"leave it alone: {reached} images/s are loaded, and {target} are wanted"
    return SpeedAdvice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_describe_best_gain(measured)))


def _advise_to_leave_pictures(
    measured: Sequence[CandidateResult], alike: Sequence[CandidateResult], noise: float
) -> Iterator[SpeedAdvice]:
    """Where nothing helps that leaves the pictures as they are."""
    if not measured or any(is_worthwhile(each.gain, noise) for each in alike if each.gain is not None):
        return
    others = "" if len(alike) == len(measured) else "with every picture as it is, "
    message = f"leave it alone: {others}{_describe_highest_gain(alike)}"
    yield SpeedAdvice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_describe_best_gain(alike)))


def _describe_highest_gain(measured: Sequence[CandidateResult]) -> str:
    highest = max((each.gain.ratio for each in measured if each.gain is not None), default=0.0)
    if highest >= words.WORTHWHILE:
        return "no gain is more than the noise of the measurement"
    return f"you would gain {highest - 1:.0%} at most" if highest > 1 else "nothing else is faster"


def _describe_best_gain(measured: Sequence[CandidateResult]) -> tuple[str, ...]:
    gains = [(each.gain, each.candidate.title) for each in measured if each.gain is not None]
    if not gains:
        return ()
    gain, title = max(gains, key=lambda each: each[0].ratio)
    return (f"the fastest of {len(gains)} that were compared: {title}, {words.times(gain)}",)


_MOSTLY = 0.5
_MANY_TIMES = 4.0
"""The files' size, beyond which a store is no advice: what reads it in memory today reads it from disk tomorrow."""
_PLACE_LEFT = 0.9
"""Of a disk, what may be filled."""


def flaws_of(result: CandidateResult, context: AdviceContext) -> tuple[str, ...]:
    """Why this candidate is not to be recommended, whatever it gains; nothing where it may be."""
    picture = words.describe_picture_difference(result)
    failed = f"{result.left_out} of the images cannot be loaded like this" if result.left_out else ""
    return tuple(filter(None, (picture, failed, *_report_lack_of_space(result, context))))


def evidence_of(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    """The figures behind an advice."""
    here, there = find_best_rate(result.rates), find_best_rate(context.baseline.rates)
    if here is not None and there is not None:
        yield f"{words.describe_worker_rate(here)}; as it is, {words.describe_worker_rate(there)}"
    yield from _from_disk(result, context)
    difference = result.difference
    if difference is not None and difference.same_shape:
        far = f"mean difference {difference.mean:.2f} levels, {difference.highest} at most"
        yield f"{far if difference.highest else 'the same pictures to the last bit'}, on {difference.images} images"
    timing, usual = result.timing, context.baseline.timing
    if timing is not None and usual is not None and timing.peak_bytes and usual.peak_bytes:
        yield f"peak memory of one process: {words.size(timing.peak_bytes)}; as it is, {words.size(usual.peak_bytes)}"
    formats = context.workload.formats
    if result.candidate.stack == "fastinstall" and formats.get("PNG", 0) > _MOSTLY * sum(formats.values()):
        yield "it brings zlib-ng, which unpacks PNG 1.2 times as fast (measured 2026-11-21)"
    if result.versions:
        yield ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))


def rate_with(result: CandidateResult, verdict: BottleneckVerdict) -> float:
    """Images per second with the best number of workers: as measured, or as one process promises, the less of both."""
    promised = verdict.reached_rate * (result.gain.ratio if result.gain is not None else 1.0)
    measured = find_best_rate(result.rates)
    return promised if measured is None else min(promised, measured.images_per_second)


def _report_lack_of_space(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    need, place = disk_need(result, context), context.workload.filesystem
    if place is not None and place.free_bytes and need > place.free_bytes * _PLACE_LEFT:
        yield f"needs {words.size(need)}, and {words.size(place.free_bytes)} are free"
    if (result.stored_ratio or 0.0) > _MANY_TIMES:
        yield f"takes {result.stored_ratio:.1f} times the room: what is read from a disk becomes slower"
    if need and not reads_from_disk(context.workload, context.machine) and not stays_in_memory(need, context.machine):
        yield f"{words.size(need)} would not stay in memory, where the files do: it was measured in memory"


def _from_disk(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    """What is left of a gain that was measured in memory, where every image is read from disk first."""
    timing, gain = context.baseline.timing, result.gain
    if timing is None or timing.cold_read_ms is None or gain is None or result.candidate.storage != "files":
        return
    if reads_from_disk(context.workload, context.machine):
        read = sum(each.ms for each in timing.stages if each.stage is Stage.READ)
        longer = max(0.0, timing.cold_read_ms - read)
        left = (timing.ms + longer) / (timing.ms / gain.ratio + longer)
        yield f"measured with the files in memory; from disk, where they will come from, about {left:.2f} times as fast"


_AS_GOOD = 0.95
_SLOW_START = 1.0
"""Seconds to the first batch that are worth a word: they come again with every epoch."""


def advice_on_workers(context: AdviceContext) -> Iterator[SpeedAdvice]:
    """The number of workers that pays, against loading in the process itself; nothing where none does."""
    rates, is_cold = context.baseline.rates, reads_from_disk(context.workload, context.machine)
    rates = tuple(rate for rate in rates if rate.cold == is_cold) or tuple(rate for rate in rates if not rate.cold)
    timing = context.baseline.timing
    alone = max(
        (rate.images_per_second for rate in rates if not rate.workers),
        default=timing.images_per_second if timing else 0.0,
    )
    with_workers = [rate for rate in rates if rate.workers]
    best = fewest_that_pay(with_workers)
    if best is None or not alone or best.images_per_second < alone * words.WORTHWHILE:
        return
    ratio = best.images_per_second / alone
    usable, limit = context.machine.usable_cpus, ""
    if any(rate.workers > best.workers for rate in with_workers):
        limit = "; more of them load no faster"
    elif best.workers >= usable:
        limit = f"; no more than {usable} can compute at a time"
    message = f"num_workers={best.workers}, compared with num_workers=0{limit}"
    remedy = Remedy(text="give your DataLoader this number of workers; each has the memory of one process more")
    finding = words.SAY.hint(message, evidence=tuple(_list_rates(context)), remedy=remedy)
    gain = Gain(ratio=ratio, low=ratio, high=ratio, rounds=1)
    yield SpeedAdvice(candidate="", gain=gain, finding=finding, code=f"num_workers={best.workers}")


def fewest_that_pay(rates: Sequence[LoadingRate]) -> LoadingRate | None:
    """Return the fewest workers that match the best rate, or None if none was measured."""
    most = max((rate.images_per_second for rate in rates), default=0.0)
    good = (rate for rate in rates if rate.images_per_second >= most * _AS_GOOD)
    return min(good, key=lambda rate: (rate.workers, -rate.images_per_second), default=None)


def _list_rates(context: AdviceContext) -> Iterator[str]:
    for rate in context.baseline.rates:
        cache = ", files not in the page cache" if rate.cold else ""
        start = f" ({rate.start}{cache})" if rate.workers or cache else ""
        yield f"{words.describe_worker_rate(rate)}{start}"
    quota = context.machine.quota
    if quota is not None and quota < context.machine.cores:
        yield f"{context.machine.cores} CPUs are there, {quota:g} are granted"


def _advise_persistent_workers(context: AdviceContext) -> Iterator[SpeedAdvice]:
    """Where starting workers takes a second or more, which it does in every epoch."""
    warm = (rate for rate in context.baseline.rates if rate.workers and not rate.cold)
    most = {rate.start: rate for rate in sorted(warm, key=lambda rate: rate.workers)}
    slow = [rate for rate in most.values() if rate.first_batch_seconds >= _SLOW_START]
    if not slow:
        return
    slow.sort(key=lambda rate: -rate.first_batch_seconds)
    started = tuple(f"{rate.start}: {rate.first_batch_seconds:.1f} s to the first batch" for rate in slow)
    first = slow[0]
    workers = f"{first.workers} worker{'s' if first.workers > 1 else ''} started by {first.start}"
    message = f"the first batch of {workers} takes {first.first_batch_seconds:.1f} s, in every epoch"
    text = "keep them from epoch to epoch; they keep their memory too"
    yield _make_pointer(message, "persistent_workers=True", text, started)
    quick = {rate.start for rate in context.baseline.rates} - {rate.start for rate in slow}
    if WorkerStart.FORK in quick:
        text = "only where neither CUDA nor threads were started before them"
        yield _make_pointer("workers that are forked start sooner here", 'multiprocessing_context="fork"', text)


def _make_pointer(message: str, code: str, text: str, evidence: tuple[str, ...] = ()) -> SpeedAdvice:
    """The evidence is of what was measured; that it helps was not."""
    finding = words.SAY.hint(message, evidence=evidence, remedy=Remedy(text=text))
    return SpeedAdvice(candidate="", gain=None, finding=finding, code=code)
