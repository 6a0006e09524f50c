"""One workload: the baseline, every candidate in turn with it, what helps together, and the best with workers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.bench.adoption import describe_picture_difference
from fastinstall.bench.advice import is_worthwhile
from fastinstall.bench.candidates import CandidateRun, baseline_of, join_candidate_runs
from fastinstall.bench.catalogue import StoreKind
from fastinstall.bench.comparison import BaselineComparison, compute_timing, job_of, make_unmeasured, start_comparison
from fastinstall.bench.effort import BenchContext, schedule_for, seconds_for, sort_by_promise
from fastinstall.bench.loading import (
    Job,
    NotLoadedError,
    PoolRequest,
    PoolWorkload,
    choose_pool_requests,
    measure_rates,
    start_loading,
)
from fastinstall.bench.report import (
    CandidateKind,
    CandidateOutcome,
    CandidateResult,
    LoadingRate,
    WorkerStart,
    Workload,
)
from fastinstall.bench.temporary_store import Maker, temporary_store
from fastinstall.bench.workloads import WorkloadTask, narrow_workload
from fastinstall.core.events import Progressed, Started
from fastinstall.core.messages import listing

RATED = 2
"""How many of the best are measured with workers, beside the baseline."""
_UNBOUNDED = 1e9
_RATE_START_SECONDS = 0.2


class WorkloadComparison:
    """A comparison that goes on, and the time that it has."""

    def __init__(self, context: BenchContext, task: WorkloadTask, run: BaselineComparison, end: float) -> None:
        self.context = context
        self.task = task
        self.run = run
        self.end = end
        self.start_seconds = 0.0
        self.pass_seconds = 0.0
        self.wishes = choose_pool_requests(context.machine, quick=context.wish.quick, workers=context.wish.workers)

    def choose_workload(self) -> Workload:
        """The images that take part: all that the baseline can load, and that there is time for."""
        effort, wished = self.context.effort, self.context.wish.samples
        most = _UNBOUNDED if wished else effort.pass_seconds
        first = self.run.choose_images(most, effort.least_sample)
        self.pass_seconds = first.ms * len(self.run.indexes) / 1000
        self.run.schedule = schedule_for(effort, self.pass_seconds)
        return narrow_workload(self.task, self.run.indexes, first.failed)

    def baseline(self) -> CandidateResult:
        """The environment as it is, in one process."""
        context, run = self.context, self.run
        context.session.emit(Started(stage="measure", message=f"{self.title}: {len(run.indexes)} images"))
        timing = compute_timing(run.measure())
        return CandidateResult(
            candidate=baseline_of(self.title, is_own_loader=bool(context.wish.loader)),
            outcome=CandidateOutcome.MEASURED,
            versions=run.loading.versions,
            timing=replace(timing, cold_read_ms=self._measure_cold_read_ms()),
        )

    @property
    def title(self) -> str:
        """The baseline, for people."""
        return f"your loader, {self.context.wish.loader}" if self.context.wish.loader else self.context.label

    def measure_rates(
        self, job: Job, wishes: Sequence[PoolRequest], result: CandidateResult
    ) -> tuple[LoadingRate, ...]:
        """With workers, in a process of their own, once the comparison is over: they take memory, and may hang."""
        title, emit = result.candidate.title, self.context.session.emit
        emit(Started(stage="workers", message=f"{title}, with workers"))
        ms = result.timing.ms if result.timing else None
        load = PoolWorkload(seconds=self.context.effort.rate_seconds, ms=ms, images=self.run.indexes)
        try:
            with start_loading(job, self.run.schedule.start_patience, with_workers=True) as own:
                return measure_rates(own, wishes, load, self.context.remark)
        except NotLoadedError as error:
            self.context.remark(f"{title}: not measured with workers: {error.reason}")
            return ()

    def measure_candidate(self, candidate_run: CandidateRun) -> CandidateResult:
        """Hold a candidate against the baseline; its store, if it has one, is there only meanwhile.

        Raises:
            FailedError: the baseline died or hung.
        """
        if candidate_run.absent or not self.run.list_able_indexes(candidate_run):
            return self.run.measure_candidate(candidate_run)
        self.context.session.emit(Started(stage="measure", message=candidate_run.candidate.title))
        if candidate_run.store is None:
            return self.run.measure_candidate(candidate_run)
        return self._measure_stored(candidate_run, candidate_run.store)

    def _measure_stored(self, candidate_run: CandidateRun, kind: StoreKind) -> CandidateResult:
        job = self.run.job
        maker = Maker(
            python=job.python,
            variables=job.variables,
            directory=self.context.space,
            pipeline=job.pipeline,
            site=candidate_run.site,
            processes=self.context.machine.usable_cpus,
            emit=self.context.session.emit,
        )
        try:
            with temporary_store(kind, self.task.images, maker) as made:
                result = self.run.measure_candidate(candidate_run, made)
                return replace(result, stored_bytes=made.bytes, stored_ratio=round(made.ratio, 3))
        except NotLoadedError as error:
            return make_unmeasured(candidate_run.candidate, error.outcome, error.reason)

    def has_time(self, measured: int | None = None) -> bool:
        """Whether another candidate fits; those that were named always do, and some while the run has time at all.

        Args:
            measured: how many there are already, or None if that does not matter.
        """
        if self.context.wish.candidates:
            return True
        needed = seconds_for(self.run.schedule, self.pass_seconds, self.start_seconds)
        few = measured is not None and measured < self.context.effort.least_candidates
        left = self.context.left() if few else self.end - time.monotonic()
        return needed + self._estimate_rating_seconds() < left

    def _estimate_rating_seconds(self) -> float:
        """What is kept for workers."""
        loaders = 1 if self.context.wish.quick else 1 + RATED
        each = self.context.effort.rate_seconds + _RATE_START_SECONDS + self.pass_seconds
        return loaders * (2 * self.start_seconds + len(self.wishes) * each)

    def _measure_cold_read_ms(self) -> float | None:
        """Of a file that is not in the page cache; where files lie in memory there is no such thing.

        Raises:
            FailedError: the baseline died or hung.
        """
        if self.pass_seconds > 2 * self.context.effort.pass_seconds:
            return None
        cold = self.run.measure_cold()
        read = cold.stages.get("read")
        return round(read, 5) if cold.was_cold and read is not None else None


_PARTS = (CandidateKind.STACK, CandidateKind.DECODER, CandidateKind.SETTING)


def compare_candidates(
    context: BenchContext, task: WorkloadTask, candidate_runs: Sequence[CandidateRun], seconds: float
) -> tuple[Workload, CandidateResult, tuple[CandidateResult, ...]]:
    """Measure the baseline and every candidate in turn with it, as far as the time goes; then some with workers.

    Args:
        context: where it is measured.
        task: the images.
        candidate_runs: what the baseline is compared with.
        seconds: that all of it should take.

    Returns:
        The images that the baseline could load, the baseline, and the others in the order of their gain.

    Raises:
        FailedError: the baseline cannot be started, died or hung.
    """
    started = time.monotonic()
    with start_comparison(task.job, schedule_for(context.effort)) as run:
        comparison = WorkloadComparison(context, task, run, started + seconds)
        comparison.start_seconds = time.monotonic() - started
        workload = comparison.choose_workload()
        baseline = comparison.baseline()
        scalable = min(workload.width, workload.height) >= 2 * context.wish.pipeline.shorter
        results = list(_measure_candidates(comparison, sort_by_promise(candidate_runs, scalable=scalable)))
        joined = _combine_best_runs(comparison, candidate_runs, results)
        results += map(comparison.measure_candidate, joined)
    baseline = replace(baseline, rates=comparison.measure_rates(run.job, comparison.wishes, baseline))
    ranked = sorted(results, key=_get_gain_ratio, reverse=True)
    return workload, baseline, tuple(_add_rates(comparison, ranked, (*candidate_runs, *joined)))


def _measure_candidates(
    comparison: WorkloadComparison, candidate_runs: Sequence[CandidateRun]
) -> Iterator[CandidateResult]:
    """Each candidate that there is time for; those that were named are all measured."""
    dropped: list[str] = []
    measured = 0
    for number, candidate_run in enumerate(candidate_runs):
        comparison.context.session.emit(Progressed(stage="candidates", done=number, total=len(candidate_runs)))
        if not (candidate_run.absent or comparison.has_time(measured)):
            dropped.append(candidate_run.name)
            continue
        result = comparison.measure_candidate(candidate_run)
        measured += result.outcome is CandidateOutcome.MEASURED
        yield result
    if dropped:
        name = comparison.task.workload.name
        comparison.context.remark(f"{name}: no time was left for {listing(dropped)}; --candidates NAME measures one")


def _combine_best_runs(
    comparison: WorkloadComparison, candidate_runs: Sequence[CandidateRun], results: Sequence[CandidateResult]
) -> tuple[CandidateRun, ...]:
    """The best stack, decoder and setting that each help and leave the pictures as they are, at the same time."""
    parts = [part for kind in _PARTS if (part := _find_best_of_kind(kind, candidate_runs, results)) is not None]
    if len(parts) < 2 or (comparison.context.wish.quick and not comparison.has_time()):  # noqa: PLR2004 (one alone is measured)
        return ()
    return (join_candidate_runs(parts),)


def _add_rates(
    comparison: WorkloadComparison, results: Sequence[CandidateResult], candidate_runs: Sequence[CandidateRun]
) -> Iterator[CandidateResult]:
    """The same, the best few and those that were named with workers too.

    A rate of fewer images than the baseline's could not be laid beside it.
    """
    request = comparison.context.wish
    by_name = {each.name: each for each in candidate_runs}
    job, wishes = comparison.run.job, comparison.wishes
    warm = [each for each in wishes if not each.cold and each.start is not WorkerStart.SPAWN]  # forked, as most are
    whole = [each for each in results if each.outcome is CandidateOutcome.MEASURED and not each.left_out]
    ratable = [each for each in whole if each.candidate.storage == "files"]
    able = [each.candidate.name for each in ratable]
    few = [each.candidate.name for each in ratable if not describe_picture_difference(each)][:RATED]
    wanted = able if request.workers else [*request.candidates, *(() if request.quick else few)]
    for result in results:
        name = result.candidate.name
        if name in able and name in wanted:
            yield replace(result, rates=comparison.measure_rates(job_of(job, by_name[name]), warm, result))
        else:
            yield result


def _find_best_of_kind(
    kind: CandidateKind, candidate_runs: Sequence[CandidateRun], results: Sequence[CandidateResult]
) -> CandidateRun | None:
    """The one of a kind that helps most, if its pictures are the baseline's and it can be joined with others."""
    by_name = {each.name: each for each in candidate_runs}
    able = [
        each
        for each in results
        if each.candidate.kind is kind and each.gain is not None and is_worthwhile(each.gain)
        if by_name[each.candidate.name].can_be_joined and not each.left_out and not describe_picture_difference(each)
    ]
    best = max(able, key=_get_gain_ratio, default=None)
    return by_name[best.candidate.name] if best is not None else None


def _get_gain_ratio(result: CandidateResult) -> float:
    return result.gain.ratio if result.gain is not None else 0.0
