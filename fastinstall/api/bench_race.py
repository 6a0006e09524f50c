"""One workload: the baseline, every candidate in turn with it, and what helps together."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.api.bench_context import BenchContext
from fastinstall.api.bench_heat import RATED, WorkloadComparison
from fastinstall.api.bench_workloads import Task
from fastinstall.bench.candidates import join_candidate_runs
from fastinstall.bench.contestant import CandidateRun
from fastinstall.bench.effort import schedule_for, sort_by_promise
from fastinstall.bench.runs import start_comparison
from fastinstall.model.event import Progressed
from fastinstall.model.images import Workload
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import CandidateResult, Kind, Outcome
from fastinstall.rules.bench_advice import is_worthwhile
from fastinstall.rules.bench_advice_words import unlike
from fastinstall.rules.messages import listing

_PARTS = (Kind.STACK, Kind.DECODER, Kind.SETTING)


@immutable
class ComparedCandidates:
    """What a workload came to.

    Attributes:
        workload: the images that the baseline could load.
        baseline: what was compared with.
        candidates: the others, in the order of their gain.
    """

    workload: Workload
    baseline: CandidateResult
    candidates: tuple[CandidateResult, ...]


def compare_candidates(
    context: BenchContext, task: Task, candidate_runs: Sequence[CandidateRun], seconds: float
) -> ComparedCandidates:
    """Measure the baseline and every candidate in turn with it, as far as the time goes; then some with workers.

    Args:
        context: where it is measured.
        task: the images.
        candidate_runs: what the baseline is compared with.
        seconds: that all of it should take.

    Raises:
        FailedError: the baseline cannot be started, died or hung.
    """
    started = time.monotonic()
    with start_comparison(task.template, schedule_for(context.effort)) as run:
        comparison = WorkloadComparison(context, task, run, started + seconds)
        comparison.start_seconds = time.monotonic() - started
        workload = comparison.choose_workload()
        baseline = comparison.baseline()
        scalable = min(workload.width, workload.height) >= 2 * context.wish.pipeline.shorter
        results = list(_results(comparison, sort_by_promise(candidate_runs, scalable=scalable)))
        joined = _joined(comparison, candidate_runs, results)
        results += map(comparison.measure_candidate, joined)
    return ComparedCandidates(
        workload=workload,
        baseline=replace(baseline, rates=comparison.baseline_rates(baseline)),
        candidates=tuple(
            _with_rates(comparison, sorted(results, key=_ratio, reverse=True), (*candidate_runs, *joined))
        ),
    )


def _results(comparison: WorkloadComparison, candidate_runs: Sequence[CandidateRun]) -> Iterator[CandidateResult]:
    """Each candidate that there is time for; those that were named are all measured."""
    dropped: list[str] = []
    measured = 0
    for number, candidate_run in enumerate(candidate_runs):
        comparison.context.session.emit(Progressed(stage="candidates", done=number, total=len(candidate_runs)))
        if not (candidate_run.absent or comparison.has_time(measured)):
            dropped.append(candidate_run.name)
            continue
        result = comparison.measure_candidate(candidate_run)
        measured += result.outcome is Outcome.MEASURED
        yield result
    if dropped:
        name = comparison.task.workload.name
        comparison.context.remark(f"{name}: no time was left for {listing(dropped)}; --candidates NAME measures one")


def _joined(
    comparison: WorkloadComparison, candidate_runs: Sequence[CandidateRun], results: Sequence[CandidateResult]
) -> tuple[CandidateRun, ...]:
    """The best stack, decoder and setting that each help and leave the pictures as they are, at the same time."""
    parts = [part for kind in _PARTS if (part := _best(kind, candidate_runs, results)) is not None]
    if len(parts) < 2 or (comparison.context.wish.quick and not comparison.has_time()):  # noqa: PLR2004 (one alone is measured)
        return ()
    return (join_candidate_runs(parts),)


def _with_rates(
    comparison: WorkloadComparison, results: Sequence[CandidateResult], candidate_runs: Sequence[CandidateRun]
) -> Iterator[CandidateResult]:
    """The same, the best few and those that were named with workers too.

    A rate of fewer images than the baseline's could not be laid beside it.
    """
    wish = comparison.context.wish
    by_name = {each.name: each for each in candidate_runs}
    able = [each.candidate.name for each in results if _can_be_rated(each)]
    few = [each.candidate.name for each in results if _can_be_rated(each) and not unlike(each)][:RATED]
    wanted = able if wish.workers else [*wish.candidates, *(() if wish.quick else few)]
    for result in results:
        name = result.candidate.name
        if name in able and name in wanted:
            yield replace(result, rates=comparison.rates_of(by_name[name], result))
        else:
            yield result


def _can_be_rated(result: CandidateResult) -> bool:
    return result.outcome is Outcome.MEASURED and not result.left_out and result.candidate.storage == "files"


def _best(
    kind: Kind, candidate_runs: Sequence[CandidateRun], results: Sequence[CandidateResult]
) -> CandidateRun | None:
    """The one of a kind that helps most, if its pictures are the baseline's and it can be joined with others."""
    by_name = {each.name: each for each in candidate_runs}
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
