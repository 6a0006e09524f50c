"""How much to measure: what fits into a promised time, the most promising first. Estimates, without a clock.

Shared by every part of `bench`: the target, the machine, the remaining time, and a temporary directory.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from fastinstall.bench.candidates import CandidateRun
from fastinstall.bench.report import BenchRequest, CandidateKind
from fastinstall.core.values import immutable
from fastinstall.elf.description import ImagingCore
from fastinstall.model.facts import Environment, Facts
from fastinstall.model.machine import LoaderLimits
from fastinstall.observe.session import Session

_MS_PER_MEGAPIXEL = 14.0
_MS_PER_IMAGE = 0.8
LEAST_SECONDS = 2.0
"""That a workload needs for a meaningful result, on an idle machine."""
_FIRST_PATIENCE = 60.0
"""Seconds for a first pass: files may come from a network, and packages from a slow disk."""
_KINDS = tuple(CandidateKind)
"""Between equal promises, the earlier kind is measured first."""


@immutable
class Schedule:
    """How long to measure.

    Attributes:
        rounds: how often the two take turns.
        starts: processes of the other one in sequence, each with as many rounds: memory layout alone changes some
            percent.
        seconds: of each turn, with at least one pass over the images.
        patience: seconds after which a turn counts as hung.
        start_patience: seconds for a process to get ready.
    """

    rounds: int
    seconds: float
    starts: int = 1
    patience: float = 120.0
    start_patience: float = 60.0


@immutable
class MeasurementBudget:
    """The limits of a run.

    Attributes:
        seconds: for everything, except builds and downloads.
        sample: the most images of a workload.
        least_sample: the fewest, if there are as many.
        pass_seconds: for one pass over them, at most.
        least_candidates: how many to measure regardless of time, the most promising ones.
        rounds: in which baseline and candidate take turns.
        starts: of each candidate's process, each with as many rounds.
        turn_seconds: of each turn, if a pass is shorter.
        rate_seconds: for each number of workers.
        operations_seconds: reserved for the table of operations.
        patience: seconds after which a process counts as hung, if it was fast before.
    """

    seconds: float
    sample: int
    least_sample: int
    pass_seconds: float
    least_candidates: int
    rounds: int
    starts: int
    turn_seconds: float
    rate_seconds: float
    operations_seconds: float
    patience: float


QUICK = MeasurementBudget(
    seconds=19.0,
    sample=12,
    least_sample=1,
    pass_seconds=0.2,
    least_candidates=3,
    rounds=3,
    starts=1,
    turn_seconds=0.1,
    rate_seconds=0.25,
    operations_seconds=2.5,
    patience=6.0,
)
FULL = MeasurementBudget(
    seconds=180.0,
    sample=48,
    least_sample=4,
    pass_seconds=0.5,
    least_candidates=6,
    rounds=2,
    starts=2,
    turn_seconds=0.2,
    rate_seconds=1.5,
    operations_seconds=45.0,
    patience=60.0,
)


def sample_size(effort: MeasurementBudget, megapixels: Sequence[float], requested: int | None) -> int:
    """Return how many images to measure.

    Args:
        effort: how many seconds and rounds may be spent.
        megapixels: of the images, in the order of the sample.
        requested: how many images the user named; None for what fits.
    """
    if requested is not None:
        return min(requested, len(megapixels))
    left = effort.pass_seconds * 1000
    for number, each in enumerate(megapixels[: effort.sample]):
        left -= _MS_PER_IMAGE + _MS_PER_MEGAPIXEL * each
        if left < 0 and number >= effort.least_sample:
            return number
    return min(effort.sample, len(megapixels))


def schedule_for(effort: MeasurementBudget, pass_seconds: float | None = None) -> Schedule:
    """Return how baseline and candidates take turns.

    Args:
        effort: how many seconds and rounds may be spent.
        pass_seconds: the baseline's time for all images; None while unknown.
    """
    if pass_seconds is None:
        return Schedule(rounds=effort.rounds, seconds=0.0, patience=_FIRST_PATIENCE, start_patience=_FIRST_PATIENCE)
    patience = max(effort.patience, 30 * (pass_seconds + effort.turn_seconds))
    return Schedule(
        rounds=effort.rounds,
        starts=effort.starts,
        seconds=effort.turn_seconds,
        patience=min(patience, effort.patience * 4),
        start_patience=effort.patience,
    )


def seconds_for(schedule: Schedule, pass_seconds: float, start_seconds: float) -> float:
    """Return the seconds for a candidate as fast as the baseline.

    Args:
        schedule: how they take turns.
        pass_seconds: of the baseline, for all images.
        start_seconds: until a process is ready.
    """
    turn = max(schedule.seconds + pass_seconds / 2, pass_seconds)
    return schedule.starts * (start_seconds + pass_seconds + 2 * schedule.rounds * turn)


def sort_by_promise(candidate_runs: Sequence[CandidateRun], scale: float) -> tuple[CandidateRun, ...]:
    """Sort by promise: if time runs out, the least helpful ones should be left.

    The priorities come from what helped in measurements (2026-11-22, three workloads).

    Args:
        candidate_runs: candidates in any order.
        scale: how many times the requested size the images have.
    """

    def rank(each: CandidateRun) -> tuple[bool, int, int]:
        return each.scales > scale, each.priority, _KINDS.index(each.candidate.kind)

    return tuple(sorted(candidate_runs, key=rank))


LOADERS_RATED = 3
"""Loaders that a full run measures with workers: the baseline and the best two."""


@immutable
class BenchContext:
    """The context of a measurement.

    Attributes:
        session: variables, directories, clock and event listener of this run.
        environment: the environment whose PIL is the baseline.
        request: what flags of `bench` ask for.
        facts: what was observed of the environment.
        core: of the installed PIL.
        machine: the limits of a loader here.
        effort: the limits of the run.
        space: a temporary directory, removed after the run.
        remark: receives a line for the report's reader.
        elapsed: seconds since the run began.
    """

    session: Session
    environment: Environment
    request: BenchRequest
    facts: Facts
    core: ImagingCore
    machine: LoaderLimits
    effort: MeasurementBudget
    space: Path
    remark: Callable[[str], None]
    elapsed: Callable[[], float]

    @property
    def python(self) -> Path:
        """The target's interpreter."""
        return Path(self.facts.interpreter.executable)

    @property
    def label(self) -> str:
        """The installed PIL, for tables."""
        return f"pillow {self.facts.stack.version} (in place)"

    def left(self) -> float:
        """Return the seconds left of the promised time, without those for the table of operations."""
        kept = self.effort.operations_seconds if self.request.operations else 0.0
        return self.effort.seconds - kept - self.elapsed()
