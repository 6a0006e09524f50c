"""A workload and a baseline that is up; one candidate after the other is held against it, and each has an outcome."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fastinstall.bench.contestant import OWN_LOADER, CandidateRun
from fastinstall.bench.effort import Schedule
from fastinstall.bench.loading import ImageStore, Job, Loading, Measured, NotLoadedError, Picture, start_loading
from fastinstall.bench.rounds import (
    Turns,
    compute_drift,
    compute_gain,
    compute_timing,
    explain_lost_baseline,
    measure_baseline,
    take_turns,
)
from fastinstall.bench.stores import MadeStore
from fastinstall.model.images import Pipeline
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Candidate, CandidateResult, Difference, Outcome

_COMPARED = 3
_COMPARED_BYTES = 12_000_000


@immutable
class JobTemplate:
    """What every process of a workload loads, and how it is started.

    Attributes:
        python: the target's interpreter.
        images: files.
        formats: of each, by Pillow's names.
        pipeline: what is done to every image.
        variables: the environment variables that processes start from.
        loader: FILE:FUNCTION of the user's own; empty for Pillow.
        tensor: whether a tensor is made, where torch is there.
    """

    python: Path
    images: tuple[Path, ...]
    formats: tuple[str, ...]
    pipeline: Pipeline
    variables: Mapping[str, str]
    loader: str = ""
    tensor: bool = True

    def baseline_job(self) -> Job:
        """The environment as it is, or the user's own loader in it."""
        return Job(
            python=self.python,
            images=self.images,
            loader=self.loader,
            pipeline=self.pipeline,
            tensor=self.tensor,
            variables=self.variables,
        )

    def job_of(self, candidate_run: CandidateRun, store: ImageStore | None = None) -> Job:
        """What a candidate runs."""
        own = candidate_run.candidate.adapter == OWN_LOADER
        return Job(
            python=self.python,
            images=self.images,
            adapter="pillow" if own else candidate_run.candidate.adapter,
            site=candidate_run.site,
            loader=self.loader if own else "",
            store=store,
            pipeline=self.pipeline,
            tensor=self.tensor,
            variables={**self.variables, **candidate_run.candidate.variables},
        )

    def suitable(self, formats: Sequence[str]) -> tuple[int, ...]:
        """Indexes of the images that are in one of these formats; all where none is named."""
        return tuple(index for index, each in enumerate(self.formats) if not formats or each in formats)


class Comparison:
    """The baseline, alive, and what it came to."""

    def __init__(self, template: JobTemplate, baseline: Loading, schedule: Schedule) -> None:
        self.template = template
        self.loading = baseline
        self.schedule = schedule
        self.indexes = tuple(range(len(template.images)))
        self._alone: tuple[Measured, ...] = ()
        self._reference: dict[int, Picture] = {}

    def choose_images(self, most_seconds: float, least: int) -> Measured:
        """Load every image once. Those that cannot be loaded take no further part, nor do more than the time is for.

        Args:
            most_seconds: that one pass over the images should take.
            least: how many images are kept all the same.

        Raises:
            FailedError: it died or hung, or could load none.
        """
        try:
            first = self.loading.measure(0.0, timeout=self.schedule.patience)
        except NotLoadedError as error:
            raise explain_lost_baseline(error) from error
        good = [index for index in self.indexes if str(index) not in first.failed]
        self.indexes = tuple(good[: max(least, int(1000 * most_seconds / max(first.ms, 0.001)))])
        return first

    def measure(self, rounds: int | None = None) -> tuple[Measured, ...]:
        """The baseline alone, round by round.

        Args:
            rounds: how many; None for as many as the schedule says.

        Raises:
            FailedError: it died, hung, or can load them no longer.
        """
        count = rounds or self.schedule.rounds
        self._alone = tuple(measure_baseline(self.loading, self.indexes, self.schedule) for _ in range(count))
        return self._alone

    def cold(self) -> Measured:
        """The baseline once, with the files out of the page cache as far as they can be put there.

        Raises:
            FailedError: it died, hung, or can load them no longer.
        """
        try:
            return self.loading.measure(0.0, cold=True, indexes=self.indexes, timeout=self.schedule.patience)
        except NotLoadedError as error:
            raise explain_lost_baseline(error) from error

    def able(self, candidate_run: CandidateRun, made: MadeStore | None = None) -> tuple[int, ...]:
        """Indexes of the images that a candidate can be asked for, by their formats and by what is in its store."""
        able = set(self.template.suitable(candidate_run.formats))
        if made is not None:
            able &= set(made.indexes)
        return tuple(index for index in self.indexes if index in able)

    def measure_candidate(self, candidate_run: CandidateRun, made: MadeStore | None = None) -> CandidateResult:
        """Hold a candidate against the baseline; whatever becomes of it is its outcome.

        Args:
            candidate_run: whom.
            made: what its images lie in, where it has a store.

        Raises:
            FailedError: the baseline died or hung.
        """
        if candidate_run.absent:
            return make_unmeasured(candidate_run.candidate, candidate_run.absence, candidate_run.absent)
        indexes = self.able(candidate_run, made)
        if not indexes:
            return make_unmeasured(
                candidate_run.candidate, Outcome.UNSUITED, f"it reads {', '.join(candidate_run.formats)} only"
            )
        job = self.template.job_of(candidate_run, made.store if made else None)
        try:
            with start_loading(job, self.schedule.start_patience) as other:
                turns = take_turns(self.loading, other, indexes, self.schedule)
                difference, versions = self._difference(other, turns.indexes), other.ready.versions
            turns = self._again(job, turns)
        except NotLoadedError as error:
            return make_unmeasured(candidate_run.candidate, error.outcome, error.reason)
        return CandidateResult(
            candidate=candidate_run.candidate,
            outcome=Outcome.MEASURED,
            versions=versions,
            timing=compute_timing(turns.other, compute_drift(turns, self._alone)),
            gain=compute_gain(turns),
            difference=difference,
            left_out=len(self.indexes) - len(turns.indexes),
        )

    def _again(self, job: Job, turns: Turns) -> Turns:
        """More turns, with other processes of the same candidate."""
        for _ in range(self.schedule.starts - 1):
            with start_loading(job, self.schedule.start_patience) as other:
                turns = turns.and_then(take_turns(self.loading, other, turns.indexes, self.schedule))
        return turns

    def _difference(self, other: Loading, indexes: Sequence[int]) -> Difference | None:
        from fastinstall.bench.differences import compare_pictures  # noqa: PLC0415 (only where pictures are compared)

        wanted = self._few(indexes)
        if not wanted:
            return None
        theirs = other.pictures(tuple(wanted), self.schedule.patience)
        return compare_pictures(tuple(wanted.values()), theirs)

    def _few(self, indexes: Sequence[int]) -> dict[int, Picture]:
        """The baseline's pictures of some images, of less where they are large; none where it gives no arrays."""
        few: dict[int, Picture] = {}
        for index in indexes[:_COMPARED]:
            if sum(len(each.data) for each in few.values()) >= _COMPARED_BYTES:
                break
            picture = self._picture(index)
            if picture is None:
                return {}
            few[index] = picture
        return few

    def _picture(self, index: int) -> Picture | None:
        if index not in self._reference:
            try:
                self._reference[index] = self.loading.pictures([index], self.schedule.patience)[0]
            except NotLoadedError as error:
                if error.outcome is Outcome.FAILED:
                    return None  # it is alive, and what it gives is no array
                raise explain_lost_baseline(error) from error
        return self._reference[index]


@contextmanager
def start_comparison(template: JobTemplate, schedule: Schedule) -> Iterator[Comparison]:
    """Start the baseline; it is killed when the block ends.

    Raises:
        FailedError: it cannot be started.
    """
    started = False
    try:
        with start_loading(template.baseline_job(), schedule.start_patience) as baseline:
            started = True
            yield Comparison(template, baseline, schedule)
    except NotLoadedError as error:
        if started:
            raise
        raise explain_lost_baseline(error) from error


def make_unmeasured(candidate: Candidate, outcome: Outcome, reason: str) -> CandidateResult:
    """A candidate of which there is nothing but a reason."""
    return CandidateResult(candidate=candidate, outcome=outcome, reason=reason, versions={})
