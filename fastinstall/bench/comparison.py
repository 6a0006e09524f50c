"""A running baseline, and candidates measured in turn with it, A B A B: gain, timing, picture differences.

Each candidate has an outcome. `effort` decides how many are compared, and for how long.
"""

import operator
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from fastinstall.bench import loading, report
from fastinstall.bench.candidates import OWN_LOADER, CandidateRun
from fastinstall.bench.effort import Schedule
from fastinstall.bench.temporary_store import MadeStore
from fastinstall.core.errors import FailedError

Round = tuple[loading.LoadingMeasurement, loading.LoadingMeasurement]
"""The baseline, and the other process after it, on the images that both can load."""


def take_turns(
    baseline: loading.LoadingProcess, other: loading.LoadingProcess, indexes: Sequence[int], schedule: Schedule
) -> list[Round]:
    """Measure two processes in turn.

    Args:
        baseline: the process of the baseline, which loads every image.
        other: has loaded them once.
        indexes: positions of the images that both load.
        schedule: how long to measure.

    Raises:
        NotLoadedError: the other one died, hung, or can no longer load one of them.
        FailedError: the baseline died or hung.
    """
    turns: list[Round] = []
    for _ in range(schedule.rounds):
        ours = measure_baseline(baseline, indexes, schedule)
        theirs = other.measure(schedule.seconds, indexes=indexes, timeout=schedule.patience, group=ours.passes)
        turns.append((ours, _require_complete(theirs)))
    return turns


def measure_baseline(
    baseline: loading.LoadingProcess, indexes: Sequence[int], schedule: Schedule
) -> loading.LoadingMeasurement:
    """Measure one turn of the baseline.

    Raises:
        FailedError: it died, hung, or can no longer load them.
    """
    with _needing_baseline():
        return _require_complete(baseline.measure(schedule.seconds, indexes=indexes, timeout=schedule.patience))


@contextmanager
def _needing_baseline() -> Iterator[None]:
    try:
        yield
    except loading.NotLoadedError as error:
        became = {report.CandidateOutcome.CRASHED: "crashed", report.CandidateOutcome.HUNG: "hung"}.get(
            error.outcome, "failed"
        )
        hint = "fastinstall doctor; for your own loader: load one image with it"
        raise FailedError(f"the baseline {became}: {error.reason}", hint=hint) from error


def compute_ratios(turns: Sequence[Round]) -> list[float]:
    """Return how many times as fast the other one was in each round.

    Each ratio uses the shortest passes of each image, which others on the machine have disturbed least.
    """
    return [one.least_ms / other.least_ms for one, other in turns]


_OUTLIERS = 6
"""With this many rounds, the range omits one at either end: another program may have run."""


def compute_gain(ratios: Sequence[float]) -> report.Gain:
    """Return the median of the rounds' ratios, and their range."""
    left_out = len(ratios) // _OUTLIERS
    kept = sorted(ratios)[left_out : len(ratios) - left_out]
    return report.Gain(
        ratio=round(statistics.median(ratios), 4),
        low=round(kept[0], 4),
        high=round(kept[-1], 4),
        rounds=len(ratios),
    )


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


def _require_complete(measured: loading.LoadingMeasurement) -> loading.LoadingMeasurement:
    """Require all images: one that failed after it was loaded once makes the rounds incomparable."""
    if measured.failed:
        reason = next(iter(measured.failed.values()))
        told = f"{len(measured.failed)} images failed that it had loaded before: {reason}"
        raise loading.NotLoadedError(report.CandidateOutcome.FAILED, told)
    return measured


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


_COMPARED = 3
_COMPARED_BYTES = 12_000_000


def job_of(baseline: loading.Job, candidate_run: CandidateRun, store: loading.ImageStore | None = None) -> loading.Job:
    """Return a candidate's job, from the baseline's."""
    own = candidate_run.candidate.adapter == OWN_LOADER
    return replace(
        baseline,
        adapter="pillow" if own else candidate_run.candidate.adapter,
        site=candidate_run.site,
        loader=baseline.loader if own else "",
        store=store,
        variables={**baseline.variables, **candidate_run.candidate.variables},
    )


class BaselineComparison:
    """The running baseline, and its measurements."""

    def __init__(self, job: loading.Job, baseline: loading.LoadingProcess, schedule: Schedule) -> None:
        self.job = job
        self.loading = baseline
        self.schedule = schedule
        self.indexes = tuple(range(len(job.images)))
        self._alone: tuple[loading.LoadingMeasurement, ...] = ()
        self._reference: dict[int, loading.Picture] = {}
        self._ratios: dict[str, list[float]] = {}

    def choose_images(self, most_seconds: float, least: int) -> loading.LoadingMeasurement:
        """Load every image once, and drop those that fail or exceed the time.

        Args:
            most_seconds: for one pass over the images.
            least: how many images to keep anyway.

        Raises:
            FailedError: it died or hung, or could load none.
        """
        with _needing_baseline():
            first = self.loading.measure(0.0, timeout=self.schedule.patience)
        good = [index for index in self.indexes if str(index) not in first.failed]
        self.indexes = tuple(good[: max(least, int(1000 * most_seconds / max(first.ms, 0.001)))])
        for index in self.indexes[:_COMPARED]:
            self._load_reference_picture(index)
        return first

    def measure(self) -> tuple[loading.LoadingMeasurement, ...]:
        """Measure the baseline alone, round by round.

        Raises:
            FailedError: it died, hung, or can no longer load them.
        """
        rounds = range(self.schedule.rounds)
        self._alone = tuple(measure_baseline(self.loading, self.indexes, self.schedule) for _ in rounds)
        return self._alone

    def measure_cold(self) -> loading.LoadingMeasurement:
        """Measure the baseline once, with the files dropped from the page cache if possible.

        Raises:
            FailedError: it died, hung, or can no longer load them.
        """
        with _needing_baseline():
            return self.loading.measure(0.0, cold=True, indexes=self.indexes, timeout=self.schedule.patience)

    def list_able_indexes(self, candidate_run: CandidateRun, made: MadeStore | None = None) -> tuple[int, ...]:
        """Return the indexes of images that a candidate can load, by their formats and its store's content."""
        formats, held = candidate_run.formats, set(self.indexes if made is None else made.indexes)
        return tuple(
            each for each in self.indexes if each in held and (not formats or self.job.formats[each] in formats)
        )

    def measure_candidate(self, candidate_run: CandidateRun, made: MadeStore | None = None) -> report.CandidateResult:
        """Compare a candidate with the baseline; any failure is its outcome.

        If it was measured before, the gain covers all its rounds.

        Args:
            candidate_run: the candidate, with its process still to be started.
            made: its store, if it has one.

        Raises:
            FailedError: the baseline died or hung.
        """
        candidate = candidate_run.candidate
        if candidate_run.absent:
            return make_unmeasured(candidate, candidate_run.absence, candidate_run.absent)
        indexes = self.list_able_indexes(candidate_run, made)
        if not indexes:
            reason = f"it only reads {', '.join(candidate_run.formats)}"
            return make_unmeasured(candidate, report.CandidateOutcome.UNSUITED, reason)
        job = job_of(self.job, candidate_run, made.store if made else None)
        turns: list[Round] = []
        try:
            for _ in range(self.schedule.starts):
                with loading.start_loading(job, self.schedule.start_patience) as other:
                    indexes = self._find_loadable(other, indexes)
                    difference, versions = self._measure_difference(other, indexes), other.versions
                    turns += take_turns(self.loading, other, indexes, self.schedule)
        except loading.NotLoadedError as error:
            return make_unmeasured(candidate, error.outcome, error.reason)
        ratios = self._ratios.setdefault(candidate.name, [])
        ratios += compute_ratios(turns)
        return report.CandidateResult(
            candidate=candidate,
            outcome=report.CandidateOutcome.MEASURED,
            reason=f"{report.CONTROL}{candidate_run.control}" if candidate_run.control else "",
            versions=versions,
            timing=compute_timing([each for _, each in turns], compute_drift(turns, self._alone)),
            gain=compute_gain(ratios),
            difference=difference,
            left_out=len(self.indexes) - len(indexes),
        )

    def _find_loadable(self, other: loading.LoadingProcess, indexes: Sequence[int]) -> tuple[int, ...]:
        """Return the indexes of images that a candidate loads, in a first pass that warms it up."""
        first = other.measure(0.0, indexes=indexes, timeout=self.schedule.patience)
        return tuple(each for each in indexes if str(each) not in first.failed)

    def _measure_difference(self, other: loading.LoadingProcess, indexes: Sequence[int]) -> report.Difference | None:
        """Compare some images, fewer if they are large; None if the baseline returns no arrays.

        Both processes return their pictures before timing: the memory that this leaves made one of two equal processes
        8% faster (measured 2026-11-23, images of 200 pixels).
        """
        few: dict[int, loading.Picture] = {}
        for index in indexes[:_COMPARED]:
            if sum(len(each.data) for each in few.values()) >= _COMPARED_BYTES:
                break
            picture = self._load_reference_picture(index)
            if picture is None:
                return None
            few[index] = picture
        theirs = [other.pictures([index], self.schedule.patience)[0] for index in few]
        return compare_pictures(tuple(few.values()), theirs)

    def _load_reference_picture(self, index: int) -> loading.Picture | None:
        if index not in self._reference:
            with _needing_baseline():
                try:
                    self._reference[index] = self.loading.pictures([index], self.schedule.patience)[0]
                except loading.NotLoadedError as error:
                    if error.outcome is report.CandidateOutcome.FAILED:
                        return None  # it is alive, but returns no array
                    raise
        return self._reference[index]


@contextmanager
def start_comparison(job: loading.Job, schedule: Schedule) -> Iterator[BaselineComparison]:
    """Start the baseline; it is killed when the block ends.

    Raises:
        FailedError: it cannot be started.
    """
    with ExitStack() as closing:
        with _needing_baseline():
            baseline = closing.enter_context(loading.start_loading(job, schedule.start_patience))
        yield BaselineComparison(job, baseline, schedule)


def make_unmeasured(
    candidate: report.Candidate, outcome: report.CandidateOutcome, reason: str
) -> report.CandidateResult:
    """Return a candidate's result that only has a reason."""
    return report.CandidateResult(candidate=candidate, outcome=outcome, reason=reason, versions={})
