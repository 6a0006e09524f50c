"""One workload: the baseline, every candidate in turn with it, and the best with workers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.bench import loading
from fastinstall.bench.advice import find_disturbance
from fastinstall.bench.candidates import CandidateRun, baseline_of, make_control_run
from fastinstall.bench.comparison import BaselineComparison, compute_timing, job_of, make_unmeasured, start_comparison
from fastinstall.bench.effort import LOADERS_RATED, BenchContext, schedule_for, seconds_for, sort_by_promise
from fastinstall.bench.report import CandidateOutcome, CandidateResult, Workload
from fastinstall.bench.temporary_store import temporary_store
from fastinstall.bench.wording import describe_picture_difference
from fastinstall.bench.workloads import WorkloadTask, narrow_workload
from fastinstall.core.events import Progressed, Started
from fastinstall.core.messages import listing

_UNBOUNDED = 1e9
_RATE_START_SECONDS = 0.2


class WorkloadComparison:
    """A running comparison, and its time."""

    def __init__(self, context: BenchContext, task: WorkloadTask, run: BaselineComparison, end: float) -> None:
        self.context = context
        self.task = task
        self.run = run
        self.end = end
        self.start_seconds = 0.0
        self.pass_seconds = 0.0
        request = context.request
        self.workers = request.workers or loading.choose_worker_counts(context.machine, quick=request.quick)
        self.threads = request.threads or loading.choose_thread_counts(context.machine, quick=request.quick)

    def choose_workload(self) -> Workload:
        """Return the images that take part: all that the baseline can load in the time."""
        effort, requested = self.context.effort, self.context.request.samples
        most = _UNBOUNDED if requested else effort.pass_seconds
        first = self.run.choose_images(most, effort.least_sample)
        self.pass_seconds = first.ms * len(self.run.indexes) / 1000
        self.run.schedule = schedule_for(effort, self.pass_seconds)
        return narrow_workload(self.task, self.run.indexes, first.failed)

    def baseline(self) -> CandidateResult:
        """Measure the environment as it is, in one process."""
        context, run = self.context, self.run
        context.session.emit(Started(stage="measure", message=f"{self.title}: {len(run.indexes)} images"))
        timing = compute_timing(run.measure())
        return CandidateResult(
            candidate=baseline_of(self.title, is_own_loader=bool(context.request.loader)),
            outcome=CandidateOutcome.MEASURED,
            versions=run.loading.versions,
            timing=replace(timing, cold_read_ms=self._measure_cold_read_ms()),
        )

    @property
    def title(self) -> str:
        """The baseline, for people."""
        return f"your loader, {self.context.request.loader}" if self.context.request.loader else self.context.label

    def measure_rates(self, job: loading.Job, result: CandidateResult) -> CandidateResult:
        """Measure with workers and threads, in a separate process after the comparison: they take memory, may hang."""
        title, emit = result.candidate.title, self.context.session.emit
        emit(Started(stage="workers", message=f"{title}, with workers"))
        ms = result.timing.ms if result.timing else None
        load = loading.PoolWorkload(seconds=self.context.effort.rate_seconds, ms=ms, images=self.run.indexes)
        try:
            with loading.start_loading(job, self.run.schedule.start_patience, with_workers=True) as own:
                rates = loading.measure_rates(own, self.workers, load, self.context.remark)
                by_threads = loading.measure_rates(own, self.threads, load, self.context.remark, in_threads=True)
                return replace(result, rates=rates, thread_rates=by_threads)
        except loading.NotLoadedError as error:
            self.context.remark(f"{title}: not measured with workers: {error.reason}")
            return result

    def measure_candidate(self, candidate_run: CandidateRun) -> CandidateResult:
        """Compare a candidate with the baseline; its store, if any, exists only meanwhile.

        Raises:
            FailedError: the baseline died or hung.
        """
        if candidate_run.absent or not self.run.list_able_indexes(candidate_run):
            return self.run.measure_candidate(candidate_run)
        self.context.session.emit(Started(stage="measure", message=candidate_run.candidate.title))
        if candidate_run.store is None:
            return self.run.measure_candidate(candidate_run)
        job = job_of(self.run.job, candidate_run)
        try:
            with temporary_store(candidate_run.store, job, self.context.space, self.context.session.emit) as made:
                result = self.run.measure_candidate(candidate_run, made)
                return replace(result, stored_bytes=made.bytes, stored_ratio=round(made.ratio, 3))
        except loading.NotLoadedError as error:
            return make_unmeasured(candidate_run.candidate, error.outcome, error.reason)

    def has_time(self, measured: int) -> bool:
        """Return whether another candidate fits; named ones always do, and some do while the run has any time.

        Args:
            measured: how many are measured already.
        """
        if self.context.request.candidates:
            return True
        few = measured < self.context.effort.least_candidates
        left = self.context.left() if few else self.end - time.monotonic()
        loaders = 1 if self.context.request.quick else LOADERS_RATED
        seconds = seconds_for(self.run.schedule, self.pass_seconds, self.start_seconds)
        return seconds + loaders * self._estimate_rating_seconds() < left

    def _estimate_rating_seconds(self) -> float:
        """Return the time to measure one loader with workers and threads."""
        each = self.context.effort.rate_seconds + _RATE_START_SECONDS + self.pass_seconds
        return 2 * self.start_seconds + (len(self.workers) + len(self.threads)) * each

    def _measure_cold_read_ms(self) -> float | None:
        """Measure reading a file that is not in the page cache; None if files are in memory.

        Raises:
            FailedError: the baseline died or hung.
        """
        if self.pass_seconds > 2 * self.context.effort.pass_seconds:
            return None
        cold = self.run.measure_cold()
        read = cold.stages.get("read")
        return round(read, 5) if cold.was_cold and read is not None else None

    def measure_candidates(self, candidate_runs: Sequence[CandidateRun]) -> Iterator[CandidateResult]:
        """Measure each candidate that fits into the time, and all named ones.

        Raises:
            FailedError: the baseline died or hung.
        """
        dropped: list[str] = []
        measured = 0
        for number, candidate_run in enumerate(candidate_runs):
            self.context.session.emit(Progressed(stage="candidates", done=number, total=len(candidate_runs)))
            if not (candidate_run.absent or self.has_time(measured)):
                dropped.append(candidate_run.name)
                continue
            result = self.measure_candidate(candidate_run)
            measured += result.outcome is CandidateOutcome.MEASURED
            yield result
        if dropped:
            name = self.task.workload.name
            self.context.remark(
                f"{name}: no time was left for {listing(dropped)}; pass --candidates NAME to measure one"
            )

    def compare_all(self, candidate_runs: Sequence[CandidateRun], workload: Workload) -> list[CandidateResult]:
        """Measure every candidate between two measurements of a control.

        Raises:
            FailedError: the baseline died or hung.
        """
        control = make_control_run(is_own_loader=bool(self.context.request.loader))
        first = self.measure_candidate(control)
        if find_disturbance([first]):
            self.run.schedule = replace(self.run.schedule, rounds=2 * self.context.effort.rounds)
        scale = min(workload.width, workload.height) / self.context.request.pipeline.shorter
        results = list(self.measure_candidates(sort_by_promise(candidate_runs, scale)))
        last = self.measure_candidate(control)
        return [last if last.gain else first, *results]

    def can_rate(self) -> bool:
        """Return whether there is time to measure another with workers; always if numbers were requested."""
        request, seconds = self.context.request, self._estimate_rating_seconds()
        return bool(request.workers or request.threads) or seconds < 1.2 * max(0.0, self.end - time.monotonic())

    def choose_rated(self, ranked: Sequence[CandidateResult], batched: Sequence[str]) -> list[str]:
        """Return the names to measure with workers too: the best few, the named ones, and `batched`.

        A rate of fewer images than the baseline's would not be comparable.
        """
        request = self.context.request
        whole = [each for each in ranked if each.outcome is CandidateOutcome.MEASURED and not each.left_out]
        ratable = [each for each in whole if each.candidate.storage == "files" and not each.is_control]
        able = [each.candidate.name for each in ratable]
        if request.workers or request.threads:
            return able
        alike = [each for each in ratable if not describe_picture_difference(each)]
        few = [*[each.candidate.name for each in alike][: LOADERS_RATED - 1], *batched]
        return [name for name in able if name in request.candidates or (name in few and not request.quick)]


def compare_candidates(
    context: BenchContext, task: WorkloadTask, candidate_runs: Sequence[CandidateRun], seconds: float
) -> tuple[Workload, CandidateResult, tuple[CandidateResult, ...]]:
    """Measure the baseline and every candidate in turn with it, as time allows; then some with workers.

    A control comes first and last.

    Args:
        context: where it is measured.
        task: the images, and what is done to each.
        candidate_runs: what is measured against the baseline.
        seconds: how long all comparisons may take together.

    Returns:
        The images that the baseline could load, the baseline, and the others ordered by gain.

    Raises:
        FailedError: the baseline cannot be started, died or hung.
    """
    started = time.monotonic()
    with start_comparison(task.job, schedule_for(context.effort)) as run:
        comparison = WorkloadComparison(context, task, run, started + seconds)
        comparison.start_seconds = time.monotonic() - started
        workload = comparison.choose_workload()
        baseline = comparison.baseline()
        results = comparison.compare_all(candidate_runs, workload)
    baseline = comparison.measure_rates(run.job, baseline)
    results.sort(key=lambda each: each.ratio, reverse=True)
    by_name = {each.name: each for each in candidate_runs}
    rated = comparison.choose_rated(results, [name for name, each in by_name.items() if each.batched])
    for index, result in enumerate(results):
        if result.candidate.name in rated and (index == 0 or comparison.can_rate()):
            job = job_of(run.job, by_name[result.candidate.name])
            results[index] = comparison.measure_rates(job, result)
    return workload, baseline, tuple(results)
