"""The baseline of a workload while it is up: what it came to itself, and each candidate that is held against it."""

import time
from collections.abc import Sequence
from dataclasses import replace

from fastinstall.api.bench_context import BenchContext
from fastinstall.api.bench_workloads import Task, narrow_workload
from fastinstall.bench.candidates import baseline_of
from fastinstall.bench.contestant import CandidateRun
from fastinstall.bench.effort import schedule_for, seconds_for
from fastinstall.bench.loading import Job, NotLoadedError, start_loading
from fastinstall.bench.pools import Load, PoolRequest, choose_pool_requests, measure_rates
from fastinstall.bench.rounds import compute_timing
from fastinstall.bench.runs import Comparison, make_unmeasured
from fastinstall.bench.store_kinds import StoreKind
from fastinstall.bench.stores import Maker, temporary_store
from fastinstall.model.event import Started
from fastinstall.model.images import Workload
from fastinstall.model.loading import CandidateResult, LoadingRate, Outcome, WorkerStart

RATED = 2
"""How many of the best are measured with workers, beside the baseline."""
_UNBOUNDED = 1e9
_RATE_START_SECONDS = 0.2


class WorkloadComparison:
    """A comparison that goes on, and the time that it has."""

    def __init__(self, context: BenchContext, task: Task, run: Comparison, end: float) -> None:
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
            outcome=Outcome.MEASURED,
            versions=run.loading.ready.versions,
            timing=replace(timing, cold_read_ms=self._cold_read_ms()),
        )

    @property
    def title(self) -> str:
        """The baseline, for people."""
        return f"your loader, {self.context.wish.loader}" if self.context.wish.loader else self.context.label

    def baseline_rates(self, baseline: CandidateResult) -> tuple[LoadingRate, ...]:
        """With workers: all numbers of them, however they start, and with a cold page cache."""
        return self._rates(self.run.template.baseline_job(), self.wishes, baseline)

    def rates_of(self, candidate_run: CandidateRun, result: CandidateResult) -> tuple[LoadingRate, ...]:
        """With workers that were forked, as most are."""
        warm = [each for each in self.wishes if not each.cold and each.start is not WorkerStart.SPAWN]
        return self._rates(self.run.template.job_of(candidate_run), warm, result)

    def _rates(self, job: Job, wishes: Sequence[PoolRequest], result: CandidateResult) -> tuple[LoadingRate, ...]:
        """In a process of their own, once the comparison is over: workers take memory, and may hang."""
        title, emit = result.candidate.title, self.context.session.emit
        emit(Started(stage="workers", message=f"{title}, with workers"))
        ms = result.timing.ms if result.timing else None
        load = Load(seconds=self.context.effort.rate_seconds, ms=ms, images=self.run.indexes)
        try:
            with start_loading(job, self.run.schedule.start_patience) as own:
                return measure_rates(own, wishes, load, self.context.remark)
        except NotLoadedError as error:
            self.context.remark(f"{title}: not measured with workers: {error.reason}")
            return ()

    def measure_candidate(self, candidate_run: CandidateRun) -> CandidateResult:
        """Hold a candidate against the baseline; its store, if it has one, is there only meanwhile.

        Raises:
            FailedError: the baseline died or hung.
        """
        if candidate_run.absent or not self.run.able(candidate_run):
            return self.run.measure_candidate(candidate_run)
        self.context.session.emit(Started(stage="measure", message=candidate_run.candidate.title))
        if candidate_run.store is None:
            return self.run.measure_candidate(candidate_run)
        return self._stored(candidate_run, candidate_run.store)

    def _stored(self, candidate_run: CandidateRun, kind: StoreKind) -> CandidateResult:
        template = self.run.template
        maker = Maker(
            python=template.python,
            variables=template.variables,
            directory=self.context.space,
            pipeline=template.pipeline,
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
        return needed + self._rates_seconds() < left

    def _rates_seconds(self) -> float:
        """What is kept for workers."""
        loaders = 1 if self.context.wish.quick else 1 + RATED
        each = self.context.effort.rate_seconds + _RATE_START_SECONDS + self.pass_seconds
        return loaders * (2 * self.start_seconds + len(self.wishes) * each)

    def _cold_read_ms(self) -> float | None:
        """Of a file that is not in the page cache; where files lie in memory there is no such thing.

        Raises:
            FailedError: the baseline died or hung.
        """
        if self.pass_seconds > 2 * self.context.effort.pass_seconds:
            return None
        cold = self.run.cold()
        read = cold.stages.get("read")
        return round(read, 5) if cold.was_cold and read is not None else None
