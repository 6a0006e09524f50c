"""What to do about loading images, ordered by measured gain. Pure.

Candidates that change the pictures, fail on some, or do not fit on the disk are shown with their gain, but never
recommended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fastinstall.bench import wording as words
from fastinstall.bench.adoption import AdviceContext, disk_need, rank_simplicity, ways_of
from fastinstall.bench.bottleneck import find_best_rate, measure_cold_delay, reads_from_disk
from fastinstall.bench.report import BottleneckVerdict, CandidateResult, Gain, LoadingLimit, LoadingRate, SpeedAdvice
from fastinstall.model.finding import Remedy

_BEYOND_NOISE = 1.02


def advice_for(
    candidates: Sequence[CandidateResult], verdict: BottleneckVerdict, context: AdviceContext
) -> tuple[SpeedAdvice, ...]:
    """Return what helps, the largest gain first.

    If controls show that the machine was too busy, say so first and recommend nothing.

    Args:
        candidates: everything that was tried.
        verdict: what limits the loading.
        context: the baseline, the place and the audience.
    """
    if context.baseline.timing is None:
        return ()
    measured = [each for each in candidates if each.gain is not None and not each.is_control]
    controls = [each for each in candidates if each.gain is not None and each.is_control]
    known = tuple(_tell_present_gain(measured))
    if verdict.bound is LoadingLimit.FAST_ENOUGH:
        return (*known, _advise_to_leave_fast_loading(measured, verdict))
    noise = max((each.gain.high for each in controls if each.gain), default=0.0)
    better = [each for each in measured if is_worthwhile(each, noise)]
    found = (*(_make_advice(each, context) for each in better), *advice_on_workers(context))
    ranked = sorted(found, key=lambda each: each.gain.ratio if each.gain else 0.0, reverse=True)
    if disturbance := find_disturbance(controls):
        return (_tell_disturbance(disturbance), *ranked)
    alike = [each for each in measured if not flaws_of(each, context)]
    best = choose_simplest([each for each in alike if each in better])
    marked = (replace(each, recommended=best is not None and each.candidate == best.candidate.name) for each in ranked)
    leave = () if best else _advise_to_leave_pictures(measured, alike)
    return (*known, *leave, *marked)


def is_worthwhile(result: CandidateResult, noise: float = 0.0) -> bool:
    """Return whether a gain exceeds the noise, and is worth the effort.

    Args:
        result: a candidate's, with its gain over the baseline.
        noise: the largest gain of a control in any round.
    """
    gain = result.gain
    return gain is not None and gain.ratio >= words.WORTHWHILE and gain.low > _BEYOND_NOISE and gain.ratio > noise


_WIDE = 1.5
"""If a control's highest round exceeds its lowest by this factor, ranges mean nothing."""


def find_disturbance(controls: Iterable[CandidateResult]) -> str:
    """Explain how a control shows that ranges are unreliable: off 1.0 by more than its spread, or spread too wide.

    Args:
        controls: results of candidates that cannot change anything.

    Returns:
        A sentence; empty if they are all normal.
    """
    for each in controls:
        gain = each.gain
        if gain is None:
            continue
        is_off = not gain.low <= 1.0 <= gain.high and abs(gain.ratio - 1) > words.WORTHWHILE - 1
        if is_off or gain.high > gain.low * _WIDE:
            return f"{each.candidate.name} cannot change anything here, but measured {words.describe_gain(gain)}"
    return ""


def _tell_disturbance(disturbance: str) -> SpeedAdvice:
    message = "busy machine, ranges unreliable: nothing is recommended; run it again on an idle machine"
    return SpeedAdvice(candidate="", gain=None, finding=words.SAY.hint(message, evidence=(disturbance,)))


def _tell_present_gain(measured: Sequence[CandidateResult]) -> Iterator[SpeedAdvice]:
    """Tell what the installed stack has gained already, if the official wheel is slower."""
    for each in measured:
        gain = each.gain
        if each.candidate.stack == "official wheel" and gain is not None and gain.high * words.WORTHWHILE <= 1:
            bounds = f"{1 / gain.high:.2f} to {1 / gain.low:.2f}"
            message = f"your build is already {1 / gain.ratio:.1f}x stock ({bounds}): {each.candidate.title}"
            yield SpeedAdvice(candidate=each.candidate.name, gain=None, finding=words.SAY.ok(message))


def _make_advice(result: CandidateResult, context: AdviceContext) -> SpeedAdvice:
    """Create the advice; the gain is beside the message, not in it."""
    ways = ways_of(result, context)
    remedy = Remedy(
        text="; then ".join(way.text for way in ways) or result.candidate.title,
        command=" && ".join(way.command for way in ways) or None,
    )
    message = "; ".join((result.candidate.title, *flaws_of(result, context)))
    told = (words.describe_gain(result.gain),) if result.gain is not None else ()
    return SpeedAdvice(
        candidate=result.candidate.name,
        gain=result.gain,
        finding=words.SAY.hint(message, evidence=(*told, *evidence_of(result, context)), remedy=remedy),
        code="\n".join(way.code for way in ways if way.code),
    )


_NEARLY = 0.8
"""Share of the largest gain: what gains less is not comparable, whatever the ranges."""


def choose_simplest(better: Sequence[CandidateResult]) -> CandidateResult | None:
    """Choose the simplest of those whose ranges overlap that of the largest gain.

    Args:
        better: what is worthwhile and has no flaw.
    """
    best = max(better, key=lambda each: each.ratio, default=None)
    if best is None or best.gain is None:
        return None
    low = best.gain.low
    near = [each for each in better if each.gain and each.gain.ratio >= _NEARLY * best.ratio and each.gain.high >= low]
    return min(near, key=lambda each: (rank_simplicity(each.candidate), -each.ratio))


def _advise_to_leave_fast_loading(measured: Sequence[CandidateResult], verdict: BottleneckVerdict) -> SpeedAdvice:
    reached, target = words.format_rate(verdict.reached_rate), words.format_rate(verdict.target_rate or 0.0)
    message = f"leave it alone: you load {reached} images/s and need {target}"
    return SpeedAdvice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_describe_best_gain(measured)))


def _advise_to_leave_pictures(
    measured: Sequence[CandidateResult], alike: Sequence[CandidateResult]
) -> Iterator[SpeedAdvice]:
    """Advise against changes, as nothing helps that leaves the pictures unchanged."""
    if not measured:
        return
    highest = max((each.ratio for each in alike), default=0.0)
    told = "nothing else is faster"
    if highest >= words.WORTHWHILE:
        told = "no gain exceeds the noise of the measurement"
    elif highest > 1:
        told = f"you would gain {highest - 1:.0%} at most"
    others = "" if len(alike) == len(measured) else "without changing pictures, "
    finding = words.SAY.ok(f"leave it alone: {others}{told}", evidence=_describe_best_gain(alike))
    yield SpeedAdvice(candidate="", gain=None, finding=finding)


def _describe_best_gain(measured: Sequence[CandidateResult]) -> tuple[str, ...]:
    best = max(measured, key=lambda each: each.ratio, default=None)
    if best is None or best.gain is None:
        return ()
    gain = words.describe_gain(best.gain)
    return (f"the fastest of {len(measured)} candidates: {best.candidate.title}, {gain}",)


_MANY_TIMES = 4.0
"""The files' size, beyond which a store is not advised: what fits into memory today may come from disk tomorrow."""
_PLACE_LEFT = 0.9
"""The part of a disk that may be filled."""


def flaws_of(result: CandidateResult, context: AdviceContext) -> tuple[str, ...]:
    """Return why this candidate is not to recommend, whatever its gain; empty if it is."""
    picture = words.describe_picture_difference(result)
    failed = f"{result.left_out} images cannot be loaded this way" if result.left_out else ""
    return tuple(filter(None, (picture, failed, *_report_lack_of_space(result, context))))


def evidence_of(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    """Yield the figures behind an advice."""
    here, there = find_best_rate(result.rates), find_best_rate(context.baseline.rates)
    if here is not None and there is not None:
        yield f"{words.describe_worker_rate(here)}; currently {words.describe_worker_rate(there)}"
    yield from _from_disk(result, context)
    difference = result.difference
    if difference is not None and difference.same_shape:
        far = f"mean difference {difference.mean:.2f} levels, {difference.highest} at most"
        yield f"{far if difference.highest else 'identical pictures'}, on {difference.images} images"
    timing, usual = result.timing, context.baseline.timing
    if timing is not None and usual is not None and timing.peak_bytes and usual.peak_bytes:
        peak, usual_peak = map(words.format_size, (timing.peak_bytes, usual.peak_bytes))
        yield f"peak memory of one process: {peak}; currently {usual_peak}"
    if result.versions:
        yield ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))


def _report_lack_of_space(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    need, place = disk_need(result, context), context.workload.filesystem
    if place is not None and place.free_bytes and need > place.free_bytes * _PLACE_LEFT:
        yield f"needs {words.format_size(need)}, but only {words.format_size(place.free_bytes)} are free"
    if (result.stored_ratio or 0.0) > _MANY_TIMES:
        yield f"takes {result.stored_ratio:.1f} times the space: reading from disk becomes slower"


def _from_disk(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    """Yield what remains of a gain measured in memory, if every image is read from disk first."""
    timing, gain = context.baseline.timing, result.gain
    if timing is None or timing.cold_read_ms is None or gain is None or result.candidate.storage != "files":
        return
    if reads_from_disk(context.workload, context.machine):
        longer = measure_cold_delay(timing)
        left = (timing.ms + longer) / (timing.ms / gain.ratio + longer)
        yield f"measured with the files in memory; from disk, as in training, about {left:.2f} times as fast"


_AS_GOOD = 0.95


def advice_on_workers(context: AdviceContext) -> Iterator[SpeedAdvice]:
    """Yield the number of workers that pays, compared with loading in the process itself; nothing if none does."""
    rates, timing = context.baseline.rates, context.baseline.timing
    alone = max(
        (rate.images_per_second for rate in rates if not rate.workers),
        default=timing.images_per_second if timing else 0.0,
    )
    with_workers = [rate for rate in rates if rate.workers]
    best = fewest_that_pay(with_workers)
    if best is None or not alone or best.images_per_second < alone * words.WORTHWHILE:
        return
    ratio = best.images_per_second / alone
    message = f"num_workers={best.workers}, compared with num_workers=0"
    remedy = Remedy(text="give your DataLoader this number of workers; each takes the memory of another process")
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
        yield words.describe_worker_rate(rate)
    quota = context.machine.quota
    if quota is not None and quota < context.machine.cores:
        yield f"{context.machine.cores} CPUs exist, {quota:g} are granted"
