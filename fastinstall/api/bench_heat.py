"""The baseline of a workload while it is up: what it came to itself, and each candidate that is held against it."""

import time
from collections.abc import Sequence
from dataclasses import replace

from fastinstall.api.bench_context import Scene
from fastinstall.api.bench_workloads import Task, narrowed
from fastinstall.bench.candidates import baseline_of
from fastinstall.bench.contestant import Contestant
from fastinstall.bench.effort import pace_of, seconds_for
from fastinstall.bench.loading import Job, NotLoadedError, loading
from fastinstall.bench.pools import Load, PoolWish, rates, wishes_for
from fastinstall.bench.rounds import timing_of
from fastinstall.bench.runs import Race, unmeasured
from fastinstall.bench.store_kinds import StoreKind
from fastinstall.bench.stores import Maker, temporary_store
from fastinstall.model.event import Started
from fastinstall.model.images import Workload
from fastinstall.model.loading import CandidateResult, LoadingRate, Outcome, WorkerStart

RATED = 2
"""How many of the best are measured with workers, beside the baseline."""
_UNBOUNDED = 1e9
_RATE_START_SECONDS = 0.2


class Heat:
    """A race that goes on, and the time that it has."""

    def __init__(self, scene: Scene, task: Task, run: Race, end: float) -> None:
        self.scene = scene
        self.task = task
        self.run = run
        self.end = end
        self.start_seconds = 0.0
        self.pass_seconds = 0.0
        self.wishes = wishes_for(scene.machine, quick=scene.wish.quick, workers=scene.wish.workers)

    def settled(self) -> Workload:
        """The images that take part: all that the baseline can load, and that there is time for."""
        effort, wished = self.scene.effort, self.scene.wish.samples
        most = _UNBOUNDED if wished else effort.pass_seconds
        first = self.run.settle(most, effort.least_sample)
        self.pass_seconds = first.ms * len(self.run.indexes) / 1000
        self.run.pace = pace_of(effort, self.pass_seconds)
        return narrowed(self.task, self.run.indexes, first.failed)

    def baseline(self) -> CandidateResult:
        """The environment as it is, in one process."""
        scene, run = self.scene, self.run
        scene.session.emit(Started(stage="measure", message=f"{self.title}: {len(run.indexes)} images"))
        timing = timing_of(run.measure())
        return CandidateResult(
            candidate=baseline_of(self.title, is_own_loader=bool(scene.wish.loader)),
            outcome=Outcome.MEASURED,
            versions=run.loading.ready.versions,
            timing=replace(timing, cold_read_ms=self._cold_read_ms()),
        )

    @property
    def title(self) -> str:
        """The baseline, for people."""
        return f"your loader, {self.scene.wish.loader}" if self.scene.wish.loader else self.scene.label

    def baseline_rates(self, baseline: CandidateResult) -> tuple[LoadingRate, ...]:
        """With workers: all numbers of them, however they start, and with a cold page cache."""
        return self._rates(self.run.course.baseline_job(), self.wishes, baseline)

    def rates_of(self, contestant: Contestant, result: CandidateResult) -> tuple[LoadingRate, ...]:
        """With workers that were forked, as most are."""
        warm = [each for each in self.wishes if not each.cold and each.start is not WorkerStart.SPAWN]
        return self._rates(self.run.course.job_of(contestant), warm, result)

    def _rates(self, job: Job, wishes: Sequence[PoolWish], result: CandidateResult) -> tuple[LoadingRate, ...]:
        """In a process of their own, once the race is over: workers take memory, and may hang."""
        title, emit = result.candidate.title, self.scene.session.emit
        emit(Started(stage="workers", message=f"{title}, with workers"))
        ms = result.timing.ms if result.timing else None
        load = Load(seconds=self.scene.effort.rate_seconds, ms=ms, images=self.run.indexes)
        try:
            with loading(job, self.run.pace.start_patience) as own:
                return rates(own, wishes, load, self.scene.remark)
        except NotLoadedError as error:
            self.scene.remark(f"{title}: not measured with workers: {error.reason}")
            return ()

    def against(self, contestant: Contestant) -> CandidateResult:
        """Hold a candidate against the baseline; its store, if it has one, is there only meanwhile.

        Raises:
            FailedError: the baseline died or hung.
        """
        if contestant.absent or not self.run.able(contestant):
            return self.run.against(contestant)
        self.scene.session.emit(Started(stage="measure", message=contestant.candidate.title))
        if contestant.store is None:
            return self.run.against(contestant)
        return self._stored(contestant, contestant.store)

    def _stored(self, contestant: Contestant, kind: StoreKind) -> CandidateResult:
        course = self.run.course
        maker = Maker(
            python=course.python,
            variables=course.variables,
            directory=self.scene.space,
            pipeline=course.pipeline,
            site=contestant.site,
            processes=self.scene.machine.usable_cpus,
            emit=self.scene.session.emit,
        )
        try:
            with temporary_store(kind, self.task.images, maker) as made:
                result = self.run.against(contestant, made)
                return replace(result, stored_bytes=made.bytes, stored_ratio=round(made.ratio, 3))
        except NotLoadedError as error:
            return unmeasured(contestant.candidate, error.outcome, error.reason)

    def has_time(self, measured: int | None = None) -> bool:
        """Whether another candidate fits; those that were named always do, and some while the run has time at all.

        Args:
            measured: how many there are already; None where it is no matter.
        """
        if self.scene.wish.candidates:
            return True
        needed = seconds_for(self.run.pace, self.pass_seconds, self.start_seconds)
        few = measured is not None and measured < self.scene.effort.least_candidates
        left = self.scene.left() if few else self.end - time.monotonic()
        return needed + self._rates_seconds() < left

    def _rates_seconds(self) -> float:
        """What is kept for workers."""
        loaders = 1 if self.scene.wish.quick else 1 + RATED
        each = self.scene.effort.rate_seconds + _RATE_START_SECONDS + self.pass_seconds
        return loaders * (2 * self.start_seconds + len(self.wishes) * each)

    def _cold_read_ms(self) -> float | None:
        """Of a file that is not in the page cache; where files lie in memory there is no such thing.

        Raises:
            FailedError: the baseline died or hung.
        """
        if self.pass_seconds > 2 * self.scene.effort.pass_seconds:
            return None
        cold = self.run.cold()
        read = cold.stages.get("read")
        return round(read, 5) if cold.was_cold and read is not None else None
