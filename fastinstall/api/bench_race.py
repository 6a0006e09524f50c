"""One workload: the baseline, every candidate in turn with it, and what helps together."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.api.bench_context import Scene
from fastinstall.api.bench_heat import RATED, Heat
from fastinstall.api.bench_workloads import Task
from fastinstall.bench.candidates import together
from fastinstall.bench.contestant import Contestant
from fastinstall.bench.effort import by_promise, pace_of
from fastinstall.bench.runs import race
from fastinstall.model.event import Progressed
from fastinstall.model.images import Workload
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import CandidateResult, Kind, Outcome
from fastinstall.rules.bench_advice import is_worthwhile
from fastinstall.rules.bench_advice_words import unlike
from fastinstall.rules.messages import listing

_PARTS = (Kind.STACK, Kind.DECODER, Kind.SETTING)


@immutable
class Raced:
    """What a workload came to.

    Attributes:
        workload: the images that the baseline could load.
        baseline: what was compared with.
        candidates: the others, in the order of their gain.
    """

    workload: Workload
    baseline: CandidateResult
    candidates: tuple[CandidateResult, ...]


def run_race(scene: Scene, task: Task, contestants: Sequence[Contestant], seconds: float) -> Raced:
    """Measure the baseline and every candidate in turn with it, as far as the time goes; then some with workers.

    Args:
        scene: where it is measured.
        task: the images.
        contestants: what the baseline is compared with.
        seconds: that all of it should take.

    Raises:
        FailedError: the baseline cannot be started, died or hung.
    """
    started = time.monotonic()
    with race(task.course, pace_of(scene.effort)) as run:
        heat = Heat(scene, task, run, started + seconds)
        heat.start_seconds = time.monotonic() - started
        workload = heat.settled()
        baseline = heat.baseline()
        scalable = min(workload.width, workload.height) >= 2 * scene.wish.pipeline.shorter
        results = list(_results(heat, by_promise(contestants, scalable=scalable)))
        joined = _joined(heat, contestants, results)
        results += map(heat.against, joined)
    return Raced(
        workload=workload,
        baseline=replace(baseline, rates=heat.baseline_rates(baseline)),
        candidates=tuple(_with_rates(heat, sorted(results, key=_ratio, reverse=True), (*contestants, *joined))),
    )


def _results(heat: Heat, contestants: Sequence[Contestant]) -> Iterator[CandidateResult]:
    """Each candidate that there is time for; those that were named are all measured."""
    dropped: list[str] = []
    measured = 0
    for number, contestant in enumerate(contestants):
        heat.scene.session.emit(Progressed(stage="candidates", done=number, total=len(contestants)))
        if not (contestant.absent or heat.has_time(measured)):
            dropped.append(contestant.name)
            continue
        result = heat.against(contestant)
        measured += result.outcome is Outcome.MEASURED
        yield result
    if dropped:
        name = heat.task.workload.name
        heat.scene.remark(f"{name}: no time was left for {listing(dropped)}; --candidates NAME measures one")


def _joined(
    heat: Heat, contestants: Sequence[Contestant], results: Sequence[CandidateResult]
) -> tuple[Contestant, ...]:
    """The best stack, decoder and setting that each help and leave the pictures as they are, at the same time."""
    parts = [part for kind in _PARTS if (part := _best(kind, contestants, results)) is not None]
    if len(parts) < 2 or (heat.scene.wish.quick and not heat.has_time()):  # noqa: PLR2004 (one alone is measured)
        return ()
    return (together(parts),)


def _with_rates(
    heat: Heat, results: Sequence[CandidateResult], contestants: Sequence[Contestant]
) -> Iterator[CandidateResult]:
    """The same, the best few and those that were named with workers too.

    A rate of fewer images than the baseline's could not be laid beside it.
    """
    wish = heat.scene.wish
    by_name = {each.name: each for each in contestants}
    able = [each.candidate.name for each in results if _can_be_rated(each)]
    few = [each.candidate.name for each in results if _can_be_rated(each) and not unlike(each)][:RATED]
    wanted = able if wish.workers else [*wish.candidates, *(() if wish.quick else few)]
    for result in results:
        name = result.candidate.name
        if name in able and name in wanted:
            yield replace(result, rates=heat.rates_of(by_name[name], result))
        else:
            yield result


def _can_be_rated(result: CandidateResult) -> bool:
    return result.outcome is Outcome.MEASURED and not result.left_out and result.candidate.storage == "files"


def _best(kind: Kind, contestants: Sequence[Contestant], results: Sequence[CandidateResult]) -> Contestant | None:
    """The one of a kind that helps most, if its pictures are the baseline's and it can be joined with others."""
    by_name = {each.name: each for each in contestants}
    able = [
        each
        for each in results
        if each.candidate.kind is kind and each.gain is not None and is_worthwhile(each.gain)
        if by_name[each.candidate.name].can_be_joined and not each.left_out and not unlike(each)
    ]
    best = max(able, key=_ratio, default=None)
    return by_name[best.candidate.name] if best is not None else None


def _ratio(result: CandidateResult) -> float:
    return result.gain.ratio if result.gain is not None else 0.0
