"""What to do about loading images, ordered by measured gain; then what workers need. Pure.

Candidates that change the pictures, fail on some, or do not fit on the disk are shown with their gain, but never
recommended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fastinstall.bench import wording as words
from fastinstall.bench.adoption import AdviceContext, disk_need, rank_simplicity, ways_of
from fastinstall.bench.bottleneck import find_best_rate, measure_cold_delay, reads_from_disk, stays_in_memory
from fastinstall.bench.report import (
    BottleneckVerdict,
    CandidateOutcome,
    CandidateResult,
    Gain,
    LoadingLimit,
    LoadingRate,
    SpeedAdvice,
)
from fastinstall.model.finding import Remedy

_BEYOND_NOISE = 1.02


def advice_for(
    candidates: Sequence[CandidateResult], verdict: BottleneckVerdict, context: AdviceContext
) -> tuple[SpeedAdvice, ...]:
    """Return what helps, the largest gain first; then the cost of starting workers.

    If controls show that the machine was too busy, say so first and recommend nothing.

    Args:
        candidates: everything that was tried.
        verdict: what limits the loading.
        context: the baseline, the place and the audience.
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
    """Return whether a gain exceeds the noise, and is worth the effort.

    Args:
        gain: a candidate's gain over the baseline, with bounds.
        noise: the largest gain of a control in any round.
    """
    return gain.ratio >= words.WORTHWHILE and gain.low > _BEYOND_NOISE and gain.ratio > noise


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


def _tell_disturbance(disturbance: str, context: AdviceContext) -> SpeedAdvice:
    message = "busy machine, ranges unreliable: nothing is recommended; run it again on an idle machine"
    evidence = tuple(filter(None, (disturbance, context.busy)))
    return SpeedAdvice(candidate="", gain=None, finding=words.SAY.hint(message, evidence=evidence))


def _tell_present_gain(measured: Sequence[CandidateResult]) -> Iterator[SpeedAdvice]:
    """Tell what the installed stack has gained already, if the official wheel is slower."""
    for each in measured:
        gain = each.gain
        if each.candidate.stack == "official wheel" and gain is not None and gain.high * words.WORTHWHILE <= 1:
            bounds = f"{1 / gain.high:.2f} to {1 / gain.low:.2f}"
            message = f"your build is already {1 / gain.ratio:.1f}x stock ({bounds}): {each.candidate.title}"
            yield SpeedAdvice(candidate=each.candidate.name, gain=None, finding=words.SAY.ok(message))


def _get_ratio(advice: SpeedAdvice) -> float:
    return advice.gain.ratio if advice.gain is not None else 0.0


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
    gains = [(each.gain, each) for each in better if each.gain is not None]
    if not gains:
        return None
    best, _ = max(gains, key=lambda each: each[0].ratio)
    contenders = [each for gain, each in gains if gain.ratio >= _NEARLY * best.ratio and gain.high >= best.low]
    return min(contenders, key=lambda each: (rank_simplicity(each.candidate), -_get_gain(each)))


def _get_gain(result: CandidateResult) -> float:
    return result.gain.ratio if result.gain is not None else 0.0


def _mark_recommendation(
    ranked: Sequence[SpeedAdvice], better: Sequence[CandidateResult], verdict: BottleneckVerdict
) -> Iterator[SpeedAdvice]:
    """Mark the simplest of the best without a flaw; say if it suffices alone."""
    best = choose_simplest(better)
    for each in ranked:
        is_best = best is not None and each.candidate == best.candidate.name
        yield _recommend(each, best, verdict) if is_best and best else each


def _recommend(advice: SpeedAdvice, result: CandidateResult, verdict: BottleneckVerdict) -> SpeedAdvice:
    reached, target, message = best_rate(result, verdict), verdict.target_rate, advice.finding.message
    if target is not None and reached >= target:
        alone = (
            f"this alone brings about {words.format_rate(reached)} images/s, and you need {words.format_rate(target)}"
        )
        message = f"{message}; {alone}: the rest is not needed"
    return replace(advice, recommended=True, finding=replace(advice.finding, message=message))


def _advise_to_leave_fast_loading(measured: Sequence[CandidateResult], verdict: BottleneckVerdict) -> SpeedAdvice:
    reached, target = words.format_rate(verdict.reached_rate), words.format_rate(verdict.target_rate or 0.0)
    message = f"leave it alone: you load {reached} images/s and need {target}"
    return SpeedAdvice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_describe_best_gain(measured)))


def _advise_to_leave_pictures(
    measured: Sequence[CandidateResult], alike: Sequence[CandidateResult], noise: float
) -> Iterator[SpeedAdvice]:
    """Advise against changes if nothing helps that leaves the pictures unchanged."""
    if not measured or any(is_worthwhile(each.gain, noise) for each in alike if each.gain is not None):
        return
    others = "" if len(alike) == len(measured) else "without changing pictures, "
    message = f"leave it alone: {others}{_describe_highest_gain(alike)}"
    yield SpeedAdvice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_describe_best_gain(alike)))


def _describe_highest_gain(measured: Sequence[CandidateResult]) -> str:
    highest = max((each.gain.ratio for each in measured if each.gain is not None), default=0.0)
    if highest >= words.WORTHWHILE:
        return "no gain exceeds the noise of the measurement"
    return f"you would gain {highest - 1:.0%} at most" if highest > 1 else "nothing else is faster"


def _describe_best_gain(measured: Sequence[CandidateResult]) -> tuple[str, ...]:
    gains = [(each.gain, each.candidate.title) for each in measured if each.gain is not None]
    if not gains:
        return ()
    gain, title = max(gains, key=lambda each: each[0].ratio)
    return (f"the fastest of {len(gains)} candidates: {title}, {words.describe_gain(gain)}",)


_MOSTLY = 0.5
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
    formats = context.workload.formats
    if result.candidate.stack == "fastinstall" and formats.get("PNG", 0) > _MOSTLY * sum(formats.values()):
        yield "it contains zlib-ng, which decompresses PNG 1.2 times as fast (measured 2026-11-21)"
    if result.versions:
        yield ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))


def best_rate(result: CandidateResult, verdict: BottleneckVerdict) -> float:
    """Return images per second with the best number of workers: the lower of measured and promised by one process."""
    promised = verdict.reached_rate * (result.gain.ratio if result.gain is not None else 1.0)
    measured = find_best_rate(result.rates)
    return promised if measured is None else min(promised, measured.images_per_second)


def _report_lack_of_space(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    need, place = disk_need(result, context), context.workload.filesystem
    if place is not None and place.free_bytes and need > place.free_bytes * _PLACE_LEFT:
        yield f"needs {words.format_size(need)}, but only {words.format_size(place.free_bytes)} are free"
    if (result.stored_ratio or 0.0) > _MANY_TIMES:
        yield f"takes {result.stored_ratio:.1f} times the space: reading from disk becomes slower"
    if need and not reads_from_disk(context.workload, context.machine) and not stays_in_memory(need, context.machine):
        yield f"{words.format_size(need)} would not fit in memory, but the files do: it was measured in memory"


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
_SLOW_START = 1.0
"""Seconds to the first batch that are worth mentioning: every epoch repeats them."""


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
    usable, limit = context.machine.usable_cpus, ""
    if any(rate.workers > best.workers for rate in with_workers):
        limit = "; more workers load no faster"
    elif best.workers >= usable:
        limit = f"; at most {usable} can run at the same time"
    message = f"num_workers={best.workers}, compared with num_workers=0{limit}"
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
        yield words.describe_worker_rate(rate) + (f" ({rate.start})" if rate.workers else "")
    quota = context.machine.quota
    if quota is not None and quota < context.machine.cores:
        yield f"{context.machine.cores} CPUs exist, {quota:g} are granted"


def _advise_persistent_workers(context: AdviceContext) -> Iterator[SpeedAdvice]:
    """Advise to keep workers if starting them takes a second or more, which every epoch repeats."""
    slow = max((rate for rate in context.baseline.rates if rate.workers), key=_get_start_seconds, default=None)
    if slow is None or slow.first_batch_seconds < _SLOW_START:
        return
    workers = f"{slow.workers} worker{'s' if slow.workers > 1 else ''} started by {slow.start}"
    message = f"the first batch of {workers} takes {slow.first_batch_seconds:.1f} s, in every epoch"
    remedy = Remedy(text="keep them between epochs; they also keep their memory")
    finding = words.SAY.hint(message, remedy=remedy)
    yield SpeedAdvice(candidate="", gain=None, finding=finding, code="persistent_workers=True")


def _get_start_seconds(rate: LoadingRate) -> float:
    return rate.first_batch_seconds
