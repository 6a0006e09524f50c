"""Measure one workload: each candidate in turn with a running baseline (A B A B), then the best ones with workers.

If a candidate fails, crashes or hangs, that is the candidate's outcome; only a failure of the baseline is an error.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from fastinstall.bench import loading, report
from fastinstall.bench.advice import find_disturbance
from fastinstall.bench.catalogue import OWN_LOADER, PLAIN, all_ways, sort_by_promise, unsuited
from fastinstall.bench.effort import BenchContext, Effort
from fastinstall.bench.pictures import compare_pictures, explain_wrong_picture
from fastinstall.bench.rates import choose_rated, estimate_rating_seconds, rate_candidate
from fastinstall.bench.workloads import describe_workload, prepare_workload
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Progressed, Started, ignore
from fastinstall.core.messages import listing

_FIRST_PATIENCE = 60.0
"""Seconds allowed for the first pass, which may read files from a network, and packages from a slow disk."""
_COMPARED = 3
_COMPARED_BYTES = 12_000_000
_OUTLIERS = 6
"""For every six rounds, the lowest and the highest are left out: another program may have disturbed them."""


def compare_candidates(
    context: BenchContext, name: str, candidates: Sequence[report.Candidate], end: float
) -> tuple[report.Workload, report.Candidate, tuple[report.Candidate, ...]]:
    """Measure each candidate in turn with the baseline, while time is left; then measure some candidates with workers.

    A control, equal to the baseline, is measured before and after the candidates.

    Args:
        context: target, machine, request and effort.
        name: name of a generated workload; empty for the user's own images.
        candidates: the candidates to measure.
        end: when all comparisons should be finished, on the clock of `time.monotonic`.

    Returns:
        The workload with the measured images, the baseline, and the candidates ordered by gain.

    Raises:
        UndeterminedError: no image was found, or none that can be measured.
        FailedError: the images cannot be prepared, or the baseline cannot be started, died or hung.
    """
    request, emit = context.request, context.session.emit
    workload, job, images = prepare_workload(context, name)
    title = f"your loader, {request.loader}" if request.loader else context.label
    with start_comparison(job, context.effort, context.space, emit, title) as comparison:
        failed = comparison.choose_images(all_of_them=request.samples is not None)
        indexes = comparison.indexes
        whose = "your loader fails: " if request.loader else ""
        refused = [replace(images[int(index)], reason=f"{whose}{reason}") for index, reason in failed.items()]
        chosen = [images[index] for index in indexes]
        measured = describe_workload(workload.name, workload.directory, workload.files, chosen, refused)
        unmeasured = (*workload.unmeasured, *measured.unmeasured)
        workload = replace(measured, generated=workload.generated, unmeasured=unmeasured)
        emit(Started(stage="measure", message=f"{title}: {len(indexes)} images"))
        kind = report.CandidateKind.CONTROL
        control = replace(comparison.baseline, name="control", title="the same again", kind=kind)
        baseline = comparison.measure_baseline()
        rating_seconds = estimate_rating_seconds(context, comparison.start_seconds, comparison.pass_seconds)
        before = comparison.measure_candidate(control)
        if find_disturbance([before]):
            comparison.rounds *= 2
        scale = min(workload.width, workload.height) / request.pipeline.shorter
        results: list[report.Candidate] = []
        dropped: list[str] = []
        for number, candidate in enumerate(sort_by_promise(candidates, scale)):
            emit(Progressed(stage="candidates", done=number, total=len(candidates)))
            has_few = sum(each.gain is not None for each in results) < context.effort.least_candidates
            left = context.left() if has_few else end - time.monotonic()
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
    baseline = rate_candidate(context, job, baseline, indexes, comparison.patience)
    rated = choose_rated(context, results)
    for place, candidate in enumerate(results):
        is_wanted = request.workers or request.threads or candidate.name in rated[:1]
        if candidate.name in rated and (is_wanted or rating_seconds < 1.2 * (end - time.monotonic())):
            own = job_of(job, candidate)
            results[place] = rate_candidate(context, own, candidate, indexes, comparison.patience)
    return workload, baseline, tuple(results)


@contextmanager
def start_comparison(
    job: loading.Job, effort: Effort, space: Path, emit: Emit = ignore, title: str = ""
) -> Iterator["Comparison"]:
    """Start the baseline's process, and kill it when the `with` block ends.

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
        baseline = report.Candidate(
            name="baseline",
            title=title,
            kind=report.CandidateKind.BASELINE,
            adapter=OWN_LOADER if job.loader else PLAIN,
            versions=process.versions,
        )
        start_seconds, indexes = time.monotonic() - started, tuple(range(len(job.images)))
        yield Comparison(job, process, baseline, effort, space, emit, start_seconds, effort.rounds, indexes)


@contextmanager
def _needing_baseline() -> Iterator[None]:
    try:
        yield
    except loading.NotLoadedError as error:
        known = {report.CandidateOutcome.CRASHED: "crashed", report.CandidateOutcome.HUNG: "hung"}
        hint = "fastinstall doctor; for your own loader: load one image with it"
        problem = f"the baseline {known.get(error.outcome, 'failed')}: {error.reason}"
        raise FailedError(problem, hint=hint) from error


@dataclass
class Comparison:
    """The running baseline, with methods that compare candidates with it.

    Attributes:
        job: images and loader of the baseline.
        process: the process of the baseline.
        baseline: the baseline, with its measurements as soon as `measure_baseline` has run.
        effort: how long to measure.
        space: a directory for temporary stores.
        emit: receives an event about each candidate and each store.
        start_seconds: time that the baseline took to start.
        rounds: rounds per process launch.
        indexes: indexes of the images to measure.
        pass_seconds: time that the baseline takes to load all images once.
        patience: seconds after which a silent process counts as hung.
        references: some of the baseline's pictures, by index; empty if the baseline returns no arrays.
        ratios: the ratios of all rounds of each candidate, by its name.
    """

    job: loading.Job
    process: loading.LoadingProcess
    baseline: report.Candidate
    effort: Effort
    space: Path
    emit: Emit
    start_seconds: float
    rounds: int
    indexes: tuple[int, ...]
    pass_seconds: float = 0.0
    patience: float = _FIRST_PATIENCE
    references: dict[int, loading.Picture] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)

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
            first = self.process.measure(0.0, timeout=self.patience)
        good = [index for index in self.indexes if str(index) not in first.failed]
        fitting = max(self.effort.least_sample, int(1000 * self.effort.pass_seconds / max(first.ms, 0.001)))
        self.indexes = tuple(good if all_of_them else good[:fitting])
        self.pass_seconds = first.ms * len(self.indexes) / 1000
        patience = max(self.effort.patience, 30 * (self.pass_seconds + self.effort.turn_seconds))
        self.patience = min(patience, 4 * self.effort.patience)
        self._load_references()
        return first.failed

    def measure_baseline(self) -> report.Candidate:
        """Measure the baseline alone for some rounds, and once with files that were dropped from the page cache (cold).

        The cold pass is omitted if it would take too long.

        Raises:
            FailedError: the baseline died, hung, or can no longer load the images.
        """
        with _needing_baseline():
            alone = [self._take_turn(self.process, self.indexes) for _ in range(self.rounds)]
        stages = {name: statistics.median([each.stages[name] for each in alone]) for name in alone[0].stages}
        cold_read_ms = None
        if self.pass_seconds <= 2 * self.effort.pass_seconds:
            with _needing_baseline():
                cold = self.process.measure(0.0, cold=True, indexes=self.indexes, timeout=self.patience)
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
        indexes, way = list(self.indexes), all_ways().get(candidate.name)
        if way is not None and way.formats:
            indexes = [each for each in indexes if self.job.formats[each] in way.formats]
            if not indexes:
                return unsuited(candidate, f"it only reads {', '.join(way.formats)}")
        self.emit(Started(stage="measure", message=candidate.title))
        job = job_of(self.job, candidate)
        try:
            if candidate.storage == "files":
                return self._measure(candidate, job, indexes)
            with loading.temporary_store(candidate.storage, candidate.title, job, self.space, self.emit) as store:
                job, held, size = store
                stored = sum(self.job.images[index].stat().st_size for index in held)
                measured = self._measure(candidate, job, [index for index in indexes if index in held])
                return replace(measured, stored_bytes=size, stored_ratio=round(size / max(1, stored), 3))
        except loading.NotLoadedError as error:
            return replace(candidate, outcome=error.outcome, reason=error.reason)

    def _measure(self, candidate: report.Candidate, job: loading.Job, indexes: list[int]) -> report.Candidate:
        ratios = self.ratios.setdefault(candidate.name, [])
        peak_bytes = 0
        for _ in range(self.effort.starts):
            with loading.start_loading(job, self.patience) as other:
                first = other.measure(0.0, indexes=indexes, timeout=self.patience)  # warms up the process
                indexes = [each for each in indexes if str(each) not in first.failed]
                difference, versions = self._measure_difference(other, job, indexes), other.versions
                for _ in range(self.rounds):
                    with _needing_baseline():
                        ours = self._take_turn(self.process, indexes)
                    theirs = self._take_turn(other, indexes, group=ours.passes)
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

    def _take_turn(
        self, process: loading.LoadingProcess, indexes: Sequence[int], group: int = 0
    ) -> loading.LoadingMeasurement:
        """Measure a process for one turn; it must have loaded these images before.

        Raises:
            NotLoadedError: an image failed. A round with fewer images could not be compared with other rounds.
        """
        measured = process.measure(self.effort.turn_seconds, indexes=indexes, timeout=self.patience, group=group)
        if measured.failed:
            reason = next(iter(measured.failed.values()))
            problem = f"{len(measured.failed)} images failed that it had loaded before: {reason}"
            raise loading.NotLoadedError(report.CandidateOutcome.FAILED, problem)
        return measured

    def _measure_difference(
        self, other: loading.LoadingProcess, job: loading.Job, indexes: Sequence[int]
    ) -> report.Difference | None:
        """Compare some pictures of a candidate with the baseline's; return None if the baseline returns no arrays.

        Both processes return pictures before they are timed. If only one process did so, the memory that it frees would
        make it 8% faster than an equal process (measured 2026-11-23, images of 200 pixels).

        Raises:
            NotLoadedError: a picture cannot show the same image as the baseline's; wrong decoders are not measured.
        """
        references = {index: self.references[index] for index in self.references if index in indexes}
        theirs = [other.pictures([index], self.patience)[0] for index in references]
        same = not self.job.loader and not job.loader
        for (index, one), another in zip(references.items(), theirs, strict=True):
            if wrong := explain_wrong_picture(one, another, is_same_pipeline=same):
                problem = f"its picture of {self.job.images[index].name} is wrong: {wrong}"
                raise loading.NotLoadedError(report.CandidateOutcome.FAILED, problem)
        return compare_pictures(tuple(references.values()), theirs) if references else None

    def _load_references(self) -> None:
        """Load some of the baseline's pictures: one of each format, and the first few.

        No more pictures are loaded once they exceed `_COMPARED_BYTES`, and none if the baseline returns no arrays.
        """
        firsts = {self.job.formats[index]: index for index in reversed(self.indexes)}
        for index in dict.fromkeys((*firsts.values(), *self.indexes[:_COMPARED])):
            if sum(len(each.data) for each in self.references.values()) < _COMPARED_BYTES:
                with _needing_baseline():
                    try:
                        (self.references[index],) = self.process.pictures([index], self.patience)
                    except loading.NotLoadedError as error:
                        if error.outcome is report.CandidateOutcome.FAILED:
                            return  # the baseline is alive, but returns no array
                        raise


def compute_gain(ratios: Sequence[float]) -> report.Gain:
    """Return the median and the range of the rounds' ratios; the range leaves out outliers."""
    left_out = len(ratios) // _OUTLIERS
    kept = sorted(ratios)[left_out : len(ratios) - left_out]
    middle, low, high = (round(each, 4) for each in (statistics.median(ratios), kept[0], kept[-1]))
    return report.Gain(ratio=middle, low=low, high=high, rounds=len(ratios))


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
