"""How much is measured: what fits into a time that was promised, the most promising first. Estimates, and no clock.

What every part of `bench` works with: the target, the machine, the time that is left, and a place to put things.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from fastinstall.bench.candidates import CandidateRun
from fastinstall.bench.report import BenchRequest, CandidateKind
from fastinstall.core.values import immutable
from fastinstall.elf.description import ImagingCore
from fastinstall.model.facts import Facts
from fastinstall.model.machine import LoaderLimits
from fastinstall.model.request import Environment
from fastinstall.observe.session import Session

_MS_PER_MEGAPIXEL = 14.0
_MS_PER_IMAGE = 0.8
_LEAST_SECONDS = 2.0
_FIRST_PATIENCE = 60.0
"""Seconds for a first pass: the files may come from a network, and packages from a slow disk."""
_WEIGHTS: Mapping[str, float] = MappingProxyType({"12mp": 1.7, "png": 1.2})
_KINDS = tuple(CandidateKind)
"""Of two with the same promise, the one whose kind comes first is measured first."""


@immutable
class Schedule:
    """How long is measured.

    Attributes:
        rounds: how often the two take turns.
        starts: processes of the other one, one after the other, each with as many rounds: where one happens to lie in
            memory makes some percent.
        seconds: of each turn, at least one pass over the images.
        patience: seconds after which a turn counts as hung.
        start_patience: seconds in which a process has to be ready.
    """

    rounds: int
    seconds: float
    starts: int = 1
    patience: float = 120.0
    start_patience: float = 60.0


@immutable
class MeasurementBudget:
    """What is spent on a run.

    Attributes:
        seconds: for all of it, builds and downloads aside.
        sample: the most images of a workload.
        least_sample: the least, where there are as many.
        pass_seconds: that one pass over them should take at most.
        least_candidates: that are measured however long it takes, the most promising ones.
        rounds: in which baseline and candidate take turns.
        starts: of each candidate's process, each with as many rounds.
        turn_seconds: of each turn, if a pass is shorter.
        rate_seconds: for each number of workers.
        operations_seconds: kept for the table of operations.
        patience: seconds after which a process counts as hung, that has been fast before.
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


def sample_size(effort: MeasurementBudget, megapixels: Sequence[float], wished: int | None) -> int:
    """How many images to measure, out of those that could be.

    Args:
        effort: what is spent.
        megapixels: of the images, in the order of the sample.
        wished: a number that was asked for; None for what fits.
    """
    if wished is not None:
        return min(wished, len(megapixels))
    left = effort.pass_seconds * 1000
    for number, each in enumerate(megapixels[: effort.sample]):
        left -= _MS_PER_IMAGE + _MS_PER_MEGAPIXEL * each
        if left < 0 and number >= effort.least_sample:
            return number
    return min(effort.sample, len(megapixels))


def schedule_for(effort: MeasurementBudget, pass_seconds: float | None = None) -> Schedule:
    """How baseline and candidates take turns.

    Args:
        effort: what is spent.
        pass_seconds: that the baseline needs for all images; None while that is not known.
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
    """What a candidate will take that is as fast as the baseline.

    Args:
        schedule: how they take turns.
        pass_seconds: of the baseline, for all images.
        start_seconds: until a process is ready.
    """
    turn = max(schedule.seconds + pass_seconds / 2, pass_seconds)
    return schedule.starts * (start_seconds + pass_seconds + 2 * schedule.rounds * turn)


def sort_by_promise(candidate_runs: Sequence[CandidateRun], scale: float) -> tuple[CandidateRun, ...]:
    """The most promising ones first: what is not measured for want of time should be what helps least.

    How early a candidate comes was chosen by what helped where it was measured (2026-11-22, three workloads).

    Args:
        candidate_runs: all of them.
        scale: how many times the wanted size the images have.
    """

    def rank(each: CandidateRun) -> tuple[bool, int, int]:
        return each.scales > scale, each.priority, _KINDS.index(each.candidate.kind)

    return tuple(sorted(candidate_runs, key=rank))


_CANDIDATE_SECONDS = 3.0
"""Of a full run, for one candidate: two processes, their imports, and as many rounds (measured 2026-11-23)."""
_STORE_SECONDS = 5.0
_PROCESS_SECONDS = 0.6
LOADERS_RATED = 3
"""Loaders that a full run measures with workers: the baseline and the best two."""
_LEAST_LOADING_SECONDS = 30.0
_BUSY_LOAD = 0.6
"""Of a CPU, for each that may be used: from there on the others are in the way."""
BUSY_FACTOR = 1.5
"""How much longer a full run measures on a busy machine."""


def estimate_loading_seconds(effort: MeasurementBudget, candidate_runs: Sequence[CandidateRun], pools: int) -> float:
    """How long the comparison of one workload takes, which is announced before it begins and kept.

    Args:
        effort: what is spent, at most.
        candidate_runs: those that cannot be measured take no time.
        pools: numbers of workers that are tried.
    """
    there = [each for each in candidate_runs if not each.absent]
    compared = sum(_STORE_SECONDS if each.store else _CANDIDATE_SECONDS for each in there) + 3 * _CANDIDATE_SECONDS
    rated = min(LOADERS_RATED, 1 + len(there)) * pools * (effort.rate_seconds + _PROCESS_SECONDS)
    return min(effort.seconds, max(_LEAST_LOADING_SECONDS, compared + rated))


def describe_load(load: float, cpus: int) -> str:
    """Whether other programs are in the way: the load average, in words; empty if they are not.

    Args:
        load: the load average of the last minute, before anything was measured.
        cpus: that may be used.
    """
    return f"load average {load:.1f} on {cpus} CPUs" if load > _BUSY_LOAD * cpus else ""


def format_duration(seconds: float) -> str:
    """Roughly how long, as it is announced: "40 s", "3 min", "6 min 30 s"."""
    rounded = 10 * max(1, round(seconds / 10))
    minutes, rest = divmod(rounded, 60)
    return " ".join(filter(None, (f"{minutes} min" * bool(minutes), f"{rest} s" * bool(rest))))


def share_of(seconds_left: float, name: str, others: Sequence[str]) -> float:
    """What one of several workloads may take of the time that is left: large photos take longer.

    Args:
        seconds_left: for this one and those that follow.
        name: of this one.
        others: names of those that follow.
    """
    weight = _WEIGHTS.get(name, 1.0)
    return max(0.0, seconds_left) * weight / (weight + sum(_WEIGHTS.get(each, 1.0) for each in others))


def minimum_workload_seconds(name: str) -> float:
    """What a workload takes at least, if it is to say anything, on a machine that has nothing else to do."""
    return _LEAST_SECONDS * _WEIGHTS.get(name, 1.0)


@immutable
class BenchContext:
    """Where and for what it is measured.

    Attributes:
        session: the outside world.
        environment: the target.
        wish: what was asked for.
        facts: of the target.
        core: of the PIL in place.
        machine: what bounds a loader here.
        effort: what is spent.
        space: a temporary directory, which goes away with the run.
        remark: takes a line for the reader of the report.
        elapsed: seconds since the run began.
        busy: that other programs were running before it began, in words; empty if none were in the way.
    """

    session: Session
    environment: Environment
    wish: BenchRequest
    facts: Facts
    core: ImagingCore
    machine: LoaderLimits
    effort: MeasurementBudget
    space: Path
    remark: Callable[[str], None]
    elapsed: Callable[[], float]
    busy: str = ""

    @property
    def python(self) -> Path:
        """The target's interpreter."""
        return Path(self.facts.interpreter.executable)

    @property
    def label(self) -> str:
        """The PIL in place, for tables."""
        return f"pillow {self.facts.stack.version} (in place)"

    def left(self) -> float:
        """Seconds that are left of what was promised, the table of operations aside."""
        kept = self.effort.operations_seconds if self.wish.operations else 0.0
        return self.effort.seconds - kept - self.elapsed()
