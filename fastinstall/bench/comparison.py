"""Measure one workload: each candidate in turn with a running baseline (A B A B), then the best with workers.

Whatever becomes of a candidate is its outcome; only the death of the baseline is an error.
"""

import operator
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.bench import loading, report
from fastinstall.bench.advice import describe_picture_difference, find_disturbance
from fastinstall.bench.candidates import OWN_LOADER, CandidateRun, baseline_of, make_control_run, sort_by_promise
from fastinstall.bench.effort import BenchContext, Effort
from fastinstall.bench.workloads import WorkloadTask, narrow_workload
from fastinstall.core import files
from fastinstall.core.codec import encode
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted, Progressed, Started, ignore
from fastinstall.core.messages import format_bytes, listing
from fastinstall.model.machine import LoaderLimits

Round = tuple[loading.LoadingMeasurement, loading.LoadingMeasurement]
"""The baseline, and the other process after it, on the images that both can load."""

_FIRST_PATIENCE = 60.0
"""Seconds for a first pass: files may come from a network, and packages from a slow disk."""
_COMPARED = 3
_COMPARED_BYTES = 12_000_000
_WRONG_LEVELS = 48
"""The mean of two pictures of one image may differ by less: decoders, filters and colour profiles move it by a few."""
_OUTLIERS = 6
"""With this many rounds, the range omits one at either end: another program may have run."""
_RATE_START_SECONDS = 0.2
_STORE_SECONDS = 120.0
_STORE_BYTES = 1 << 30
_STORE_PART = 10
"""A store takes at most so many bytes, and this part of the free space."""


def compute_ratios(turns: Sequence[Round]) -> list[float]:
    """Return how many times as fast the other one was in each round.

    Each ratio uses the shortest passes of each image, which others on the machine have disturbed least.
    """
    return [one.least_ms / other.least_ms for one, other in turns]


def compute_gain(ratios: Sequence[float]) -> report.Gain:
    """Return the median of the rounds' ratios, and their range."""
    left_out = len(ratios) // _OUTLIERS
    kept = sorted(ratios)[left_out : len(ratios) - left_out]
    middle, low, high = (round(each, 4) for each in (statistics.median(ratios), kept[0], kept[-1]))
    return report.Gain(ratio=middle, low=low, high=high, rounds=len(ratios))


def compute_timing(measured: Sequence[loading.LoadingMeasurement], scale: float = 1.0) -> report.Timing:
    """Return the median of several rounds, stage by stage; their sum is the total.

    Args:
        measured: at least one round of one process.
        scale: how much longer it would take at the comparison's time, see `compute_drift`.
    """
    stages = {name: scale * statistics.median([each.stages[name] for each in measured]) for name in measured[0].stages}
    whole = sum(stages.values())
    return report.Timing(
        stages=tuple(
            report.StageTime(stage=report.Stage(name), ms=round(ms, 5), share=round(ms / whole, 4) if whole else 0.0)
            for name, ms in stages.items()
        ),
        ms=round(whole, 5),
        images_per_second=round(1000 / whole, 2) if whole else 0.0,
        peak_bytes=max(each.peak_bytes for each in measured),
    )


def compute_drift(turns: Sequence[Round], baseline: Sequence[loading.LoadingMeasurement]) -> float:
    """Return how much slower the machine was when the baseline ran alone than in these turns.

    A virtual machine's speed changes within minutes by more than many candidates gain. Rates from different times are
    converted to one time.

    Args:
        turns: the rounds of the baseline and the candidate.
        baseline: its own rounds; none, or rounds on other images, give 1.
    """
    if not baseline or baseline[0].images != turns[0][0].images:
        return 1.0
    return statistics.median([each.ms for each in baseline]) / statistics.median([each.ms for each, _ in turns])


def compare_pictures(reference: Sequence[loading.Picture], other: Sequence[loading.Picture]) -> report.Difference:
    """Compare pictures of the same images, channel by channel.

    Args:
        reference: the pictures as the baseline decoded them.
        other: of a candidate, in the same order.

    Raises:
        ValueError: the numbers of pictures differ.
    """
    total = highest = values = 0
    for one, another in zip(reference, other, strict=True):
        if one.shape != another.shape or len(one.data) != len(another.data):
            return report.Difference(mean=0.0, highest=0, images=len(reference), same_shape=False)
        values += len(one.data)
        if one.data != another.data:
            steps = bytes(map(abs, map(operator.sub, one.data, another.data)))
            total += sum(steps)
            highest = max(highest, max(steps))  # noqa: PLW3301 (unpacking them would cost more than all the rest)
    return report.Difference(mean=total / values if values else 0.0, highest=highest, images=len(reference))


def explain_wrong_picture(reference: loading.Picture, other: loading.Picture, *, is_same_pipeline: bool) -> str:
    """Explain why a picture cannot be of the same image; empty if it can, or if one of them is no picture.

    Args:
        reference: as the baseline loads it.
        other: as the candidate does.
        is_same_pipeline: whether both resize and crop alike, which a user's own loader need not.
    """
    if not len(reference.shape) > 1 < len(other.shape):
        return ""
    mean, other_mean = (sum(each.data) / len(each.data) for each in (reference, other))
    if len(set(other.data)) == 1 < len(set(reference.data)):
        return f"all of it has one colour ({other_mean:.0f}), Pillow's has the mean {mean:.0f}"
    if not is_same_pipeline:
        return ""
    sizes = sorted(reference.shape[:2]), sorted(other.shape[:2])  # a turn (EXIF orientation) is no error
    if any(abs(one - another) > 1 for one, another in zip(*sizes, strict=True)):
        shown, expected = (f"{each.shape[1]}x{each.shape[0]}" for each in (other, reference))
        return f"it has {shown} pixels, Pillow's {expected}"
    is_off = abs(mean - other_mean) > _WRONG_LEVELS
    return f"its mean is {other_mean:.0f}, Pillow's {mean:.0f}" if is_off else ""


def choose_worker_counts(machine: LoaderLimits, *, quick: bool) -> tuple[int, ...]:
    """Choose the numbers of workers to try: none, and one per usable CPU; a full run also tries 1, 2, 4, ..."""
    cpus = machine.usable_cpus
    powers = () if quick else (1 << exponent for exponent in range(cpus.bit_length()))
    return (0, *(each for each in powers if each < cpus), cpus)


def choose_thread_counts(machine: LoaderLimits, *, quick: bool) -> tuple[int, ...]:
    """Choose the numbers of threads of one process to try: one, and one per usable CPU; a quick run tries none."""
    return () if quick else tuple(sorted({1, machine.usable_cpus}))


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
def start_comparison(job: loading.Job, effort: Effort, space: Path, emit: Emit = ignore) -> Iterator["Comparison"]:
    """Start the baseline; it is killed when the block ends.

    Args:
        job: what the baseline loads.
        effort: how long to measure.
        space: a directory for temporary stores.
        emit: receives an event about each store.

    Raises:
        FailedError: it cannot be started.
    """
    started = time.monotonic()
    with ExitStack() as closing:
        with _needing_baseline():
            baseline = closing.enter_context(loading.start_loading(job, _FIRST_PATIENCE))
        yield Comparison(job, baseline, effort, space, emit, time.monotonic() - started)


class Comparison:
    """The running baseline, and its measurements."""

    def __init__(
        self,
        job: loading.Job,
        baseline: loading.LoadingProcess,
        effort: Effort,
        space: Path,
        emit: Emit,
        start_seconds: float,
    ) -> None:
        self.job, self.loading, self.effort = job, baseline, effort
        self.space, self.emit = space, emit
        self.start_seconds, self.pass_seconds = start_seconds, 0.0
        self.rounds = effort.rounds
        self.patience = _FIRST_PATIENCE
        self.indexes = tuple(range(len(job.images)))
        self._alone: list[loading.LoadingMeasurement] = []
        self._pictures: dict[int, loading.Picture] = {}
        self._ratios: dict[str, list[float]] = {}

    @property
    def candidate_seconds(self) -> float:
        """Estimate of the seconds for a candidate as fast as the baseline."""
        turn = max(self.effort.turn_seconds + self.pass_seconds / 2, self.pass_seconds)
        return self.effort.starts * (self.start_seconds + self.pass_seconds + 2 * self.rounds * turn)

    def choose_images(self, *, all_of_them: bool = False) -> dict[str, str]:
        """Load every image once, and drop those that fail or exceed the time; return why some failed.

        Raises:
            FailedError: it died or hung, or could load none.
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

    def measure_baseline(self) -> report.Timing:
        """Measure the baseline alone, round by round, and once with the files out of the page cache if possible.

        Raises:
            FailedError: it died, hung, or can no longer load them.
        """
        self._alone = [self._measure_turn(self.indexes) for _ in range(self.rounds)]
        timing = compute_timing(self._alone)
        if self.pass_seconds > 2 * self.effort.pass_seconds:
            return timing
        with _needing_baseline():
            cold = self.loading.measure(0.0, cold=True, indexes=self.indexes, timeout=self.patience)
        read = cold.stages.get("read") if cold.was_cold else None
        return replace(timing, cold_read_ms=None if read is None else round(read, 5))

    def list_able_indexes(self, run: CandidateRun) -> list[int]:
        """Return the indexes of images that a candidate can load, by their formats."""
        formats = run.way.formats if run.way else ()
        return [each for each in self.indexes if not formats or self.job.formats[each] in formats]

    def measure_candidate(self, run: CandidateRun) -> report.CandidateResult:
        """Compare a candidate with the baseline; its store, if any, exists only meanwhile.

        If it was measured before, the gain covers all its rounds.

        Raises:
            FailedError: the baseline died or hung.
        """
        unmeasured = report.CandidateResult(
            candidate=run.candidate, outcome=run.absence, reason=run.absent, versions={}
        )
        indexes = self.list_able_indexes(run)
        if run.absent:
            return unmeasured
        if not indexes and run.way:
            reason = f"it only reads {', '.join(run.way.formats)}"
            return replace(unmeasured, outcome=report.CandidateOutcome.UNSUITED, reason=reason)
        self.emit(Started(stage="measure", message=run.candidate.title))
        try:
            if run.candidate.storage == "files":
                return self._measure(run, job_of(self.job, run), indexes)
            own = job_of(self.job, run)
            with temporary_store(run.candidate.storage, run.candidate.title, own, self.space, self.emit) as store:
                job, held, size = store
                stored = sum(self.job.images[index].stat().st_size for index in held)
                result = self._measure(run, job, [index for index in indexes if index in held])
                return replace(result, stored_bytes=size, stored_ratio=round(size / max(1, stored), 3))
        except loading.NotLoadedError as error:
            return replace(unmeasured, outcome=error.outcome, reason=error.reason)

    def _measure(self, run: CandidateRun, job: loading.Job, indexes: list[int]) -> report.CandidateResult:
        turns: list[Round] = []
        for _ in range(self.effort.starts):
            with loading.start_loading(job, self.patience) as other:
                first = other.measure(0.0, indexes=indexes, timeout=self.patience)  # warms it up
                indexes = [each for each in indexes if str(each) not in first.failed]
                difference, versions = self._measure_difference(other, job, indexes), other.versions
                for _ in range(self.rounds):
                    ours = self._measure_turn(indexes)
                    theirs = other.measure(
                        self.effort.turn_seconds, indexes=indexes, timeout=self.patience, group=ours.passes
                    )
                    turns.append((ours, _require_complete(theirs)))
        ratios = self._ratios.setdefault(run.candidate.name, [])
        ratios += compute_ratios(turns)
        return report.CandidateResult(
            candidate=run.candidate,
            outcome=report.CandidateOutcome.MEASURED,
            reason=f"{report.CONTROL}{run.control}" if run.control else "",
            versions=versions,
            timing=compute_timing([each for _, each in turns], compute_drift(turns, self._alone)),
            gain=compute_gain(ratios),
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
        """Compare some images; None if the baseline returns no arrays.

        Both processes return their pictures before timing: the memory that this leaves made one of two equal processes
        8% faster (measured 2026-11-23, images of 200 pixels).

        Raises:
            NotLoadedError: a picture is not of its image: a decoder that gives wrong ones is not worth its speed.
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
        """Return some pictures of the baseline, one of each format too, fewer if large; {} if it has none."""
        firsts = {self.job.formats[index]: index for index in reversed(indexes)} if self.job.formats else {}
        chosen: dict[int, loading.Picture] = {}
        for index in sorted({*firsts.values(), *indexes[:_COMPARED]}):
            if sum(len(each.data) for each in chosen.values()) < _COMPARED_BYTES:
                with _needing_baseline():
                    try:
                        known = self._pictures.get(index) or self.loading.pictures([index], self.patience)[0]
                    except loading.NotLoadedError as error:
                        if error.outcome is report.CandidateOutcome.FAILED:
                            return {}  # it is alive, but returns no array
                        raise
                chosen[index] = self._pictures[index] = known
        return chosen


@contextmanager
def temporary_store(
    kind: str, title: str, job: loading.Job, space: Path, emit: Emit
) -> Iterator[tuple[loading.Job, list[int], int]]:
    """Put images into a store, as many as there is room for; it is removed when the block ends, or on failure.

    Args:
        kind: the name of a file in `_stores/`.
        title: the store, for people.
        job: the images, and the interpreter, packages and pipeline to make it with.
        space: where the store gets its own directory.
        emit: receives an event about what is written, and where.

    Yields:
        The job that loads from it, the indexes of the images in it, and its size in bytes.

    Raises:
        NotLoadedError: it cannot be written, a package is missing, or it failed.
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


def job_of(baseline: loading.Job, run: CandidateRun) -> loading.Job:
    """Return a candidate's job, from the baseline's."""
    own = run.candidate.adapter == OWN_LOADER
    return replace(
        baseline,
        adapter="pillow" if own else run.candidate.adapter,
        site=run.site,
        loader=baseline.loader if own else "",
        variables={**baseline.variables, **run.candidate.variables},
    )


def _require_complete(measured: loading.LoadingMeasurement) -> loading.LoadingMeasurement:
    """Require all images: one that failed after it was loaded once makes the rounds incomparable."""
    if measured.failed:
        reason = next(iter(measured.failed.values()))
        problem = f"{len(measured.failed)} images failed that it had loaded before: {reason}"
        raise loading.NotLoadedError(report.CandidateOutcome.FAILED, problem)
    return measured


def compare_candidates(
    context: BenchContext, task: WorkloadTask, runs: Sequence[CandidateRun], seconds: float
) -> tuple[report.Workload, report.CandidateResult, tuple[report.CandidateResult, ...]]:
    """Measure the baseline and every candidate in turn with it, as time allows; then some with workers.

    A control comes first and last.

    Args:
        context: where it is measured.
        task: the images, and what is done to each.
        runs: what is measured against the baseline.
        seconds: how long all comparisons may take together.

    Returns:
        The images that the baseline could load, the baseline, and the others ordered by gain.

    Raises:
        FailedError: the baseline cannot be started, died or hung.
    """
    end = time.monotonic() + seconds
    request, emit = context.request, context.session.emit
    title = f"your loader, {request.loader}" if request.loader else context.label
    with start_comparison(task.job, context.effort, context.space, emit) as comparison:
        failed = comparison.choose_images(all_of_them=request.samples is not None)
        workload = narrow_workload(task, comparison.indexes, failed)
        emit(Started(stage="measure", message=f"{title}: {len(comparison.indexes)} images"))
        baseline = report.CandidateResult(
            candidate=baseline_of(title, is_own_loader=bool(request.loader)),
            outcome=report.CandidateOutcome.MEASURED,
            versions=comparison.loading.versions,
            timing=comparison.measure_baseline(),
        )
        raters = _Raters(context, comparison)
        control_run = make_control_run(is_own_loader=bool(request.loader))
        control = comparison.measure_candidate(control_run)
        if find_disturbance([control]):
            comparison.rounds *= 2
        scale = min(workload.width, workload.height) / request.pipeline.shorter
        results: list[report.CandidateResult] = []
        dropped: list[str] = []
        for number, run in enumerate(sort_by_promise(runs, scale)):
            emit(Progressed(stage="candidates", done=number, total=len(runs)))
            measured = sum(each.outcome is report.CandidateOutcome.MEASURED for each in results)
            left = context.left() if measured < context.effort.least_candidates else end - time.monotonic()
            needed = comparison.candidate_seconds + context.effort.rated * raters.seconds
            if run.absent or request.candidates or needed < left:
                results.append(comparison.measure_candidate(run))
            else:
                dropped.append(run.candidate.name)
        again = comparison.measure_candidate(control_run)
    if dropped:
        left_out = f"no time was left for {listing(dropped)}; pass --candidates NAME to measure one"
        context.remark(f"{workload.name}: {left_out}")
    results = sorted([again if again.gain else control, *results], key=lambda each: each.ratio, reverse=True)
    baseline = raters.measure(task.job, baseline)
    by_name = {run.candidate.name: run for run in runs}
    for number, name in enumerate(_choose_rated(context, results, by_name)):
        wanted = request.workers or request.threads
        if number == 0 or wanted or raters.seconds < 1.2 * (end - time.monotonic()):
            index = next(index for index, each in enumerate(results) if each.candidate.name == name)
            results[index] = raters.measure(job_of(task.job, by_name[name]), results[index])
    return workload, baseline, tuple(results)


class _Raters:
    """Measures loaders with workers and threads, in processes after the comparison: they take memory, and may hang."""

    def __init__(self, context: BenchContext, comparison: Comparison) -> None:
        self.context, self.comparison = context, comparison
        request, machine = context.request, context.machine
        self.workers = request.workers or choose_worker_counts(machine, quick=request.quick)
        self.threads = request.threads or choose_thread_counts(machine, quick=request.quick)

    @property
    def seconds(self) -> float:
        """Estimate of the time to measure one loader."""
        each = self.context.effort.rate_seconds + _RATE_START_SECONDS + self.comparison.pass_seconds
        return 2 * self.comparison.start_seconds + (len(self.workers) + len(self.threads)) * each

    def measure(self, job: loading.Job, result: report.CandidateResult) -> report.CandidateResult:
        """Return a result with its rates."""
        title, seconds, remark = result.candidate.title, self.context.effort.rate_seconds, self.context.remark
        self.context.session.emit(Started(stage="workers", message=f"{title}, with workers"))
        ms, images = (result.timing.ms if result.timing else None), self.comparison.indexes
        try:
            with loading.start_loading(job, self.comparison.patience) as own:
                rates = loading.measure_rates(own, self.workers, seconds, remark, ms=ms, images=images)
                by_threads = loading.measure_rates(
                    own, self.threads, seconds, remark, ms=ms, images=images, in_threads=True
                )
                return replace(result, rates=rates, thread_rates=by_threads)
        except loading.NotLoadedError as error:
            remark(f"{title}: not measured with workers: {error.reason}")
            return result


def _choose_rated(
    context: BenchContext, ranked: Sequence[report.CandidateResult], runs: Mapping[str, CandidateRun]
) -> list[str]:
    """Return the names to measure with workers too: the best few, the named ones, and those with batches.

    Candidates that loaded fewer images than the baseline are left out: their rates would not be comparable.
    """
    request = context.request
    able = [
        each
        for each in ranked
        if each.gain and not each.left_out and each.candidate.storage == "files" and not each.is_control
    ]
    names = [each.candidate.name for each in able]
    if request.workers or request.threads:
        return names
    alike = [each.candidate.name for each in able if not describe_picture_difference(each)]
    chosen = set(request.candidates)
    if not request.quick:
        chosen.update(alike[: context.effort.rated - 1])
        chosen.update(name for name, run in runs.items() if run.way and run.way.batched)
    return [name for name in names if name in chosen]
