"""What speaks for a candidate, and what against it: figures that were measured, a line each. Pure."""

from collections.abc import Iterator

from fastinstall.model.bench import Verdict
from fastinstall.model.loading import CandidateResult, Stage
from fastinstall.rules import bench_advice_words as words
from fastinstall.rules.bench_advice_ways import AdviceContext, disk_need
from fastinstall.rules.bottleneck import best_rate, reads_from_disk, stays_in_memory

_MOSTLY = 0.5
_MANY_TIMES = 4.0
"""The files' size, beyond which a store is no advice: what reads it in memory today reads it from disk tomorrow."""
_PLACE_LEFT = 0.9
"""Of a disk, what may be filled."""


def flaws_of(result: CandidateResult, context: AdviceContext) -> tuple[str, ...]:
    """Why this candidate is not to be recommended, whatever it gains; nothing where it may be."""
    return tuple(
        filter(
            None, (words.unlike(result), _left_out(result), *_finished(result, context), *_too_large(result, context))
        )
    )


def evidence_of(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    """The figures behind an advice."""
    yield from _with_workers(result, context)
    yield from _from_disk(result, context)
    yield from _pictures(result)
    yield from _memory(result, context)
    if result.candidate.stack == "fastinstall" and _share_of_png(context) > _MOSTLY:
        yield "it brings zlib-ng, which unpacks PNG 1.2 times as fast (measured 2026-11-21)"
    if result.versions:
        yield ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))


def rate_with(result: CandidateResult, verdict: Verdict) -> float:
    """Images per second with the best number of workers: as measured, or as one process promises, the less of both."""
    promised = verdict.reached_rate * (result.gain.ratio if result.gain is not None else 1.0)
    measured = best_rate(result.rates)
    return promised if measured is None else min(promised, measured.images_per_second)


def _left_out(result: CandidateResult) -> str:
    return f"{result.left_out} of the images cannot be loaded like this" if result.left_out else ""


def _finished(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    if result.candidate.storage in context.surroundings.finished:
        yield "only where every epoch may see the same cut of every image"


def _too_large(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    need, place = disk_need(result, context), context.workload.filesystem
    if place is not None and place.free_bytes and need > place.free_bytes * _PLACE_LEFT:
        yield f"needs {words.size(need)}, and {words.size(place.free_bytes)} are free"
    if (result.stored_ratio or 0.0) > _MANY_TIMES:
        yield f"takes {result.stored_ratio:.1f} times the room: what is read from a disk becomes slower"
    if need and not reads_from_disk(context.workload, context.machine) and not stays_in_memory(need, context.machine):
        yield f"{words.size(need)} would not stay in memory, where the files do: it was measured in memory"


def _with_workers(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    here, there = best_rate(result.rates), best_rate(context.baseline.rates)
    if here is not None and there is not None:
        yield f"{words.who_loads(here)}; as it is, {words.who_loads(there)}"


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


def _pictures(result: CandidateResult) -> Iterator[str]:
    difference = result.difference
    if difference is not None and difference.same_shape:
        far = f"mean difference {difference.mean:.2f} levels, {difference.highest} at most"
        yield f"{far if difference.highest else 'the same pictures to the last bit'}, on {difference.images} images"


def _memory(result: CandidateResult, context: AdviceContext) -> Iterator[str]:
    here, there = result.timing, context.baseline.timing
    if here is not None and there is not None and here.peak_bytes and there.peak_bytes:
        yield f"peak memory of one process: {words.size(here.peak_bytes)}; as it is, {words.size(there.peak_bytes)}"


def _share_of_png(context: AdviceContext) -> float:
    formats = context.workload.formats
    return formats.get("PNG", 0) / (sum(formats.values()) or 1)
