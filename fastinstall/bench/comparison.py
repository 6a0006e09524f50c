"""Measure one workload: each candidate in turn with a running baseline (A B A B), then the best ones with workers.

If a candidate fails, crashes or hangs, that is the candidate's outcome; only a failure of the baseline is an error.
"""

import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.bench import loading, report
from fastinstall.bench.advice import find_disturbance
from fastinstall.bench.candidates import OWN_LOADER, baseline_of, control_of, sort_by_promise, unsuited
from fastinstall.bench.catalogue import way_named
from fastinstall.bench.effort import BenchContext, Effort
from fastinstall.bench.pictures import compare_pictures, explain_wrong_picture
from fastinstall.bench.rates import Rater, choose_rated
from fastinstall.bench.workloads import WorkloadTask, narrow_workload
from fastinstall.core import files
from fastinstall.core.codec import encode
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted, Progressed, Started, ignore
from fastinstall.core.messages import format_bytes, listing

_FIRST_PATIENCE = 60.0
"""Seconds allowed for the first pass, which may read files from a network, and packages from a slow disk."""
_COMPARED = 3
_COMPARED_BYTES = 12_000_000
_OUTLIERS = 6
"""For every six rounds, the lowest and the highest are left out: another program may have disturbed them."""
_STORE_SECONDS = 120.0
_STORE_BYTES = 1 << 30
_STORE_PART = 10
"""A store takes at most `_STORE_BYTES`, and at most this fraction (1/10) of the free space."""


def compute_gain(ratios: Sequence[float]) -> report.Gain:
    """Return the median and the range of the rounds' ratios; the range leaves out outliers."""
    left_out = len(ratios) // _OUTLIERS
    kept = sorted(ratios)[left_out : len(ratios) - left_out]
    middle, low, high = (round(each, 4) for each in (statistics.median(ratios), kept[0], kept[-1]))
    return report.Gain(ratio=middle, low=low, high=high, rounds=len(ratios))


@contextmanager
def _needing_baseline() -> Iterator[None]:
    try:
        yield
    except loading.NotLoadedError as error:
        known = {report.CandidateOutcome.CRASHED: "crashed", report.CandidateOutcome.HUNG: "hung"}
        hint = "fastinstall doctor; for your own loader: load one image with it"
        problem = f"the baseline {known.get(error.outcome, 'failed')}: {error.reason}"
        raise FailedError(problem, hint=hint) from error


@contextmanager
def start_comparison(
    job: loading.Job, effort: Effort, space: Path, emit: Emit = ignore, title: str = ""
) -> Iterator["Comparison"]:
    """Start the process of the baseline, which is killed when the block ends.

    Args:
        job: images and loader of the baseline.
        effort: how long to measure.
        space: a directory for temporary stores.
        emit: receives an event about each candidate and each store.
        title: name of the baseline, for people.

    Raises:
        FailedError: the baseline cannot be started.
    """
    started = time.monotonic()
    with ExitStack() as closing:
        with _needing_baseline():
            process = closing.enter_context(loading.start_loading(job, _FIRST_PATIENCE))
        baseline = replace(baseline_of(title, is_own_loader=bool(job.loader)), versions=process.versions)
        yield Comparison(job, process, baseline, effort, space, emit, time.monotonic() - started)


class Comparison:
    """The running baseline, with methods that compare candidates with it."""

    def __init__(
        self,
        job: loading.Job,
        process: loading.LoadingProcess,
        baseline: report.Candidate,
        effort: Effort,
        space: Path,
        emit: Emit,
        start_seconds: float,
    ) -> None:
        self.job, self.loading, self.baseline, self.effort = job, process, baseline, effort
        self.space, self.emit = space, emit
        self.start_seconds, self.pass_seconds = start_seconds, 0.0
        self.rounds = effort.rounds
        self.patience = _FIRST_PATIENCE
        self.indexes = tuple(range(len(job.images)))
        self._pictures: dict[int, loading.Picture] = {}
        self._ratios: dict[str, list[float]] = {}

    @property
    def candidate_seconds(self) -> float:
        """Estimated seconds to measure a candidate that is as fast as the baseline."""
        turn = max(self.effort.turn_seconds + self.pass_seconds / 2, self.pass_seconds)
        return self.effort.starts * (self.start_seconds + self.pass_seconds + 2 * self.rounds * turn)

    def choose_images(self, *, all_of_them: bool = False) -> dict[str, str]:
        """Load every image once with the baseline, and select the images to measure.

        Images that fail are dropped. The last images are dropped too if a pass would take too long, unless
        `all_of_them` is set.

        Returns:
            Error texts of the failed images, by index.

        Raises:
            FailedError: the baseline died or hung, or could load none of the images.
        """
        with _needing_baseline():
            first = self.loading.measure(0.0, timeout=self.patience)
        good = [index for index in self.indexes if str(index) not in first.failed]
        fitting = max(self.effort.least_sample, int(1000 * self.effort.pass_seconds / max(first.ms, 0.001)))
        self.indexes = tuple(good if all_of_them else good[:fitting])
        self.pass_seconds = first.ms * len(self.indexes) / 1000
        patience = max(self.effort.patience, 30 * (self.pass_seconds + self.effort.turn_seconds))
        self.patience = min(patience, 4 * self.effort.patience)
        self._load_references(self.indexes)
        return first.failed

    def measure_baseline(self) -> report.Candidate:
        """Measure the baseline alone for some rounds, and once with files that were dropped from the page cache (cold).

        The cold pass is omitted if it would take too long.

        Raises:
            FailedError: the baseline died, hung, or can no longer load the images.
        """
        alone = [self._measure_turn(self.indexes) for _ in range(self.rounds)]
        stages = {name: statistics.median([each.stages[name] for each in alone]) for name in alone[0].stages}
        cold_read_ms = None
        if self.pass_seconds <= 2 * self.effort.pass_seconds:
            with _needing_baseline():
                cold = self.loading.measure(0.0, cold=True, indexes=self.indexes, timeout=self.patience)
            cold_read_ms = cold.stages.get("read") if cold.was_cold else None
        self.baseline = replace(
            self.baseline,
            stages={name: round(ms, 5) for name, ms in stages.items()},
            cold_read_ms=cold_read_ms,
            images_per_second=round(1000 / sum(stages.values()), 2),
            peak_bytes=max(each.peak_bytes for each in alone),
        )
        return self.baseline

    def measure_candidate(self, candidate: report.Candidate) -> report.Candidate:
        """Compare a candidate with the baseline; if it uses a store, the store is removed afterwards.

        If the candidate was measured before, its gain covers the earlier rounds too.

        Raises:
            FailedError: the baseline died or hung.
        """
        if candidate.outcome is not report.CandidateOutcome.MEASURED:
            return candidate
        way = way_named(candidate.name)
        formats = way.formats if way else ()
        indexes = [each for each in self.indexes if not formats or self.job.formats[each] in formats]
        if not indexes:
            return unsuited(candidate, f"it only reads {', '.join(formats)}")
        self.emit(Started(stage="measure", message=candidate.title))
        job = job_of(self.job, candidate)
        try:
            if candidate.storage == "files":
                return self._measure(candidate, job, indexes)
            with temporary_store(candidate.storage, candidate.title, job, self.space, self.emit) as store:
                job, held, size = store
                stored = sum(self.job.images[index].stat().st_size for index in held)
                measured = self._measure(candidate, job, [index for index in indexes if index in held])
                return replace(measured, stored_bytes=size, stored_ratio=round(size / max(1, stored), 3))
        except loading.NotLoadedError as error:
            return replace(candidate, outcome=error.outcome, reason=error.reason)

    def _measure(self, candidate: report.Candidate, job: loading.Job, indexes: list[int]) -> report.Candidate:
        ratios = self._ratios.setdefault(candidate.name, [])
        peak_bytes = 0
        for _ in range(self.effort.starts):
            with loading.start_loading(job, self.patience) as other:
                first = other.measure(0.0, indexes=indexes, timeout=self.patience)  # warms up the process
                indexes = [each for each in indexes if str(each) not in first.failed]
                difference, versions = self._measure_difference(other, job, indexes), other.versions
                for _ in range(self.rounds):
                    ours = self._measure_turn(indexes)
                    theirs = _require_complete(
                        other.measure(
                            self.effort.turn_seconds, indexes=indexes, timeout=self.patience, group=ours.passes
                        )
                    )
                    # compare the shortest passes, which other programs on the machine have disturbed least
                    ratios.append(ours.least_ms / theirs.least_ms)
                    peak_bytes = max(peak_bytes, theirs.peak_bytes)
        gain = compute_gain(ratios)
        return replace(
            candidate,
            versions=versions,
            images_per_second=round(self.baseline.images_per_second * gain.ratio, 2),
            peak_bytes=peak_bytes,
            gain=gain,
            difference=difference,
            left_out=len(self.indexes) - len(indexes),
        )

    def _measure_turn(self, indexes: Sequence[int]) -> loading.LoadingMeasurement:
        with _needing_baseline():
            return _require_complete(
                self.loading.measure(self.effort.turn_seconds, indexes=indexes, timeout=self.patience)
            )

    def _measure_difference(
        self, other: loading.LoadingProcess, job: loading.Job, indexes: Sequence[int]
    ) -> report.Difference | None:
        """Compare some pictures of a candidate with the baseline's; return None if the baseline returns no arrays.

        Both processes return pictures before they are timed. If only one process did so, the memory that it frees would
        make it 8% faster than an equal process (measured 2026-11-23, images of 200 pixels).

        Raises:
            NotLoadedError: a picture cannot show the same image as the baseline's; wrong decoders are not measured.
        """
        references = self._load_references(indexes)
        theirs = [other.pictures([index], self.patience)[0] for index in references]
        same = not self.job.loader and not job.loader
        for (index, one), another in zip(references.items(), theirs, strict=True):
            if wrong := explain_wrong_picture(one, another, is_same_pipeline=same):
                problem = f"its picture of {self.job.images[index].name} is wrong: {wrong}"
                raise loading.NotLoadedError(report.CandidateOutcome.FAILED, problem)
        return compare_pictures(tuple(references.values()), theirs) if references else None

    def _load_references(self, indexes: Sequence[int]) -> dict[int, loading.Picture]:
        """Return some of the baseline's pictures by index: the first few, and one of each format.

        If the pictures are large, there are fewer. The result is empty if the baseline returns no arrays.
        """
        firsts = {self.job.formats[index]: index for index in reversed(indexes)} if self.job.formats else {}
        chosen: dict[int, loading.Picture] = {}
        for index in sorted({*firsts.values(), *indexes[:_COMPARED]}):
            if sum(len(each.data) for each in chosen.values()) < _COMPARED_BYTES:
                with _needing_baseline():
                    try:
                        known = self._pictures.get(index) or self.loading.pictures([index], self.patience)[0]
                    except loading.NotLoadedError as error:
                        if error.outcome is report.CandidateOutcome.FAILED:
                            return {}  # the baseline is alive, but returns no array
                        raise
                chosen[index] = self._pictures[index] = known
        return chosen


@contextmanager
def temporary_store(
    kind: str, title: str, job: loading.Job, space: Path, emit: Emit
) -> Iterator[tuple[loading.Job, list[int], int]]:
    """Write as many images into a store as its size limit allows; remove the store when the block ends, or on failure.

    Args:
        kind: name of the store: a file in `_stores/`.
        title: name of the store, for people.
        job: the images, and the interpreter, packages and pipeline that write the store.
        space: a directory, in which the store gets its own directory.
        emit: receives an event about the store's maximum size and its directory.

    Yields:
        The job that loads from the store, the indexes of the images in the store, and its size in bytes.

    Raises:
        NotLoadedError: the store cannot be written or contains no image, or a package is missing.
    """
    out = space / f"store-{kind}"
    try:
        limit = min(_STORE_BYTES, shutil.disk_usage(space).free // _STORE_PART)
        out.mkdir()
    except OSError as error:
        raise loading.NotLoadedError(report.CandidateOutcome.FAILED, f"cannot write the store: {error}") from error
    message = f"{title}: at most {format_bytes(limit)} in {space}, removed after measuring"
    emit(Noted(message=message))
    request = {"kind": kind, "images": [str(each) for each in job.images], "out": str(out), "limit_bytes": limit}
    try:
        with loading.start_target(job.python, job.variables, job.site) as target:
            store = target.ask("_storage.make", _STORE_SECONDS, **request, wanted=encode(job.pipeline))
        if not store["held"]:
            raise loading.NotLoadedError(
                report.CandidateOutcome.FAILED, f"it could not store any image: {store['skipped'][0]}"
            )
        yield replace(job, store=(kind, out)), store["held"], store["bytes"]
    finally:
        files.discard(out)


def job_of(baseline: loading.Job, candidate: report.Candidate) -> loading.Job:
    """Return the job of a candidate, derived from the baseline's job."""
    own = candidate.adapter == OWN_LOADER
    return replace(
        baseline,
        adapter="pillow" if own else candidate.adapter,
        site=candidate.site,
        loader=baseline.loader if own else "",
        variables={**baseline.variables, **candidate.variables},
    )


def _require_complete(measured: loading.LoadingMeasurement) -> loading.LoadingMeasurement:
    """Return the measurement if no image failed; otherwise raise NotLoadedError.

    All these images were loaded before. A round with fewer images could not be compared with other rounds.
    """
    if measured.failed:
        reason = next(iter(measured.failed.values()))
        problem = f"{len(measured.failed)} images failed that it had loaded before: {reason}"
        raise loading.NotLoadedError(report.CandidateOutcome.FAILED, problem)
    return measured


def compare_candidates(
    context: BenchContext, task: WorkloadTask, candidates: Sequence[report.Candidate], end: float
) -> tuple[report.Workload, report.Candidate, tuple[report.Candidate, ...]]:
    """Measure each candidate in turn with the baseline, while time is left; then measure some candidates with workers.

    A control, equal to the baseline, is measured before and after the candidates.

    Args:
        context: target, machine, request and effort.
        task: the images, and the job that loads them.
        candidates: the candidates to measure.
        end: when all comparisons should be finished, on the clock of `time.monotonic`.

    Returns:
        The workload with the measured images, the baseline, and the candidates ordered by gain.

    Raises:
        FailedError: the baseline cannot be started, died or hung.
    """
    request, emit = context.request, context.session.emit
    title = f"your loader, {request.loader}" if request.loader else context.label
    with start_comparison(task.job, context.effort, context.space, emit, title) as comparison:
        failed = comparison.choose_images(all_of_them=request.samples is not None)
        workload = narrow_workload(task, comparison.indexes, failed)
        emit(Started(stage="measure", message=f"{title}: {len(comparison.indexes)} images"))
        control = control_of(comparison.baseline)
        baseline = comparison.measure_baseline()
        rater = Rater(context, comparison.indexes, comparison.patience)
        rating_seconds = rater.estimate_seconds(comparison.start_seconds, comparison.pass_seconds)
        before = comparison.measure_candidate(control)
        if find_disturbance([before]):
            comparison.rounds *= 2
        scale = min(workload.width, workload.height) / request.pipeline.shorter
        results: list[report.Candidate] = []
        dropped: list[str] = []
        for number, candidate in enumerate(sort_by_promise(candidates, scale)):
            emit(Progressed(stage="candidates", done=number, total=len(candidates)))
            measured = sum(each.gain is not None for each in results)
            left = context.left() if measured < context.effort.least_candidates else end - time.monotonic()
            is_absent = candidate.outcome is not report.CandidateOutcome.MEASURED
            needed = comparison.candidate_seconds + context.effort.rated * rating_seconds
            if is_absent or request.candidates or needed < left:
                results.append(comparison.measure_candidate(candidate))
            else:
                dropped.append(candidate.name)
        after = comparison.measure_candidate(control)
    if dropped:
        left_out = f"no time was left for {listing(dropped)}; pass --candidates NAME to measure one"
        context.remark(f"{workload.name}: {left_out}")
    results = sorted([after if after.gain else before, *results], key=lambda each: each.ratio, reverse=True)
    baseline = rater.measure(task.job, baseline)
    rated = choose_rated(context, results)
    for place, candidate in enumerate(results):
        is_wanted = request.workers or request.threads or candidate.name in rated[:1]
        if candidate.name in rated and (is_wanted or rating_seconds < 1.2 * (end - time.monotonic())):
            results[place] = rater.measure(job_of(task.job, candidate), candidate)
    return workload, baseline, tuple(results)
