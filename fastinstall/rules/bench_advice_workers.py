"""How many worker processes load the images, by the rates that were measured. Pure."""

from collections.abc import Iterator

from fastinstall.model.bench import Advice
from fastinstall.model.finding import Remedy
from fastinstall.model.loading import Gain, LoadingRate
from fastinstall.rules import bench_advice_words as words
from fastinstall.rules.bench_advice_ways import AdviceContext
from fastinstall.rules.bottleneck import reads_from_disk

_AS_GOOD = 0.95
_SLOW_START = 1.0
"""Seconds to the first batch that are worth a word: they come again with every epoch."""


def advice_on_workers(context: AdviceContext) -> Iterator[Advice]:
    """The number of workers that pays, against loading in the process itself; nothing where none does."""
    alone, best = _alone(context), fewest_that_pay(context)
    if best is None or not alone or best.images_per_second < alone * words.WORTHWHILE:
        return
    ratio = best.images_per_second / alone
    gain = Gain(ratio=ratio, low=ratio, high=ratio, rounds=1)
    message = f"num_workers={best.workers}, compared with num_workers=0{_no_more(best, context)}"
    remedy = Remedy(text="give your DataLoader this number of workers; each has the memory of one process more")
    finding = words.SAY.hint(message, evidence=tuple(_rates(context)), remedy=remedy)
    yield Advice(candidate="", gain=gain, finding=finding, code=f"num_workers={best.workers}")


def fewest_that_pay(context: AdviceContext) -> LoadingRate | None:
    """Return the fewest workers that match the best rate, or None if none was measured."""
    measured = _measured(context)
    most = max((rate.images_per_second for rate in measured), default=0.0)
    good = (rate for rate in measured if rate.images_per_second >= most * _AS_GOOD)
    return min(good, key=lambda rate: (rate.workers, -rate.images_per_second), default=None)


def slow_starts(context: AdviceContext) -> tuple[LoadingRate, ...]:
    """Of each way to start workers, the rate of the most of them, where the first batch is long in coming."""
    warm = (rate for rate in context.baseline.rates if rate.workers and not rate.cold)
    most = {rate.start: rate for rate in sorted(warm, key=lambda rate: rate.workers)}
    slow = (rate for rate in most.values() if rate.first_batch_seconds >= _SLOW_START)
    return tuple(sorted(slow, key=lambda rate: -rate.first_batch_seconds))


def _measured(context: AdviceContext) -> list[LoadingRate]:
    """With workers, and from disk where the files will come from there."""
    return [rate for rate in _as_in_training(context) if rate.workers]


def _as_in_training(context: AdviceContext) -> list[LoadingRate]:
    rates, is_cold = context.baseline.rates, reads_from_disk(context.workload, context.machine)
    return [rate for rate in rates if rate.cold == is_cold] or [rate for rate in rates if not rate.cold]


def _alone(context: AdviceContext) -> float:
    """Images per second without workers."""
    timing = context.baseline.timing
    rates = [rate.images_per_second for rate in _as_in_training(context) if not rate.workers]
    return max(rates) if rates else timing.images_per_second if timing is not None else 0.0


def _no_more(best: LoadingRate, context: AdviceContext) -> str:
    """Why not more of them, where more were tried or there are no CPUs for them."""
    if any(rate.workers > best.workers for rate in _measured(context)):
        return "; more of them load no faster"
    usable = context.machine.usable_cpus
    return f"; no more than {usable} can compute at a time" if best.workers >= usable else ""


def _rates(context: AdviceContext) -> Iterator[str]:
    for rate in context.baseline.rates:
        cache = ", files not in the page cache" if rate.cold else ""
        start = f" ({rate.start}{cache})" if rate.workers or cache else ""
        yield f"{words.who_loads(rate)}{start}"
    quota = context.machine.quota
    if quota is not None and quota < context.machine.cores:
        yield f"{context.machine.cores} CPUs are there, {quota:g} are granted"
