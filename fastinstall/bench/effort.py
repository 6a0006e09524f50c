"""Choose how much to measure so that it fits into a promised time.

Shared by every part of `bench`: the target, the machine, the remaining time, and a temporary directory.
"""

import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

from fastinstall.bench.report import BenchRequest
from fastinstall.core.values import immutable
from fastinstall.elf.description import ImagingCore
from fastinstall.model.facts import Environment, Facts
from fastinstall.model.machine import LoaderLimits
from fastinstall.observe.session import Session

_MS_PER_MEGAPIXEL = 14.0
_MS_PER_IMAGE = 0.8
LEAST_SECONDS = 2.0
"""That a workload needs for a meaningful result, on an idle machine."""


@immutable
class Effort:
    """The limits of a run; by default of a full one.

    Attributes:
        seconds: for everything, except builds and downloads.
        sample: the most images of a workload.
        least_sample: the fewest, if there are as many.
        pass_seconds: for one pass over them, at most.
        least_candidates: how many to measure regardless of time, the most promising ones.
        rounds: in which baseline and candidate take turns.
        starts: of each candidate's process, each with as many rounds: memory layout alone changes some percent.
        turn_seconds: of each turn, if a pass is shorter.
        rate_seconds: for each number of workers.
        rated: loaders that are measured with workers: the baseline, and the best others.
        operations_seconds: reserved for the table of operations.
        patience: seconds after which a process counts as hung, if it was fast before.
    """

    seconds: float = 180.0
    sample: int = 48
    least_sample: int = 4
    pass_seconds: float = 0.5
    least_candidates: int = 6
    rounds: int = 2
    starts: int = 2
    turn_seconds: float = 0.2
    rate_seconds: float = 1.5
    rated: int = 3
    operations_seconds: float = 45.0
    patience: float = 60.0


FULL = Effort()
QUICK = Effort(
    seconds=19.0,
    sample=12,
    least_sample=1,
    pass_seconds=0.2,
    least_candidates=3,
    rounds=3,
    starts=1,
    turn_seconds=0.1,
    rate_seconds=0.25,
    rated=1,
    operations_seconds=2.5,
    patience=6.0,
)


def sample_size(effort: Effort, megapixels: Sequence[float], requested: int | None) -> int:
    """Return how many images to measure.

    Args:
        effort: how many seconds and rounds may be spent.
        megapixels: of the images, in the order of the sample.
        requested: how many images the user named; None for what fits.
    """
    if requested is not None:
        return min(requested, len(megapixels))
    costs = accumulate(_MS_PER_IMAGE + _MS_PER_MEGAPIXEL * each for each in megapixels[: effort.sample])
    fitting = sum(ms <= 1000 * effort.pass_seconds for ms in costs)
    return min(len(megapixels), max(effort.least_sample, fitting))


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
        started: when the run began, as `time.monotonic` counts.
        end: when the promised time is over.
    """

    session: Session
    environment: Environment
    request: BenchRequest
    facts: Facts
    core: ImagingCore
    machine: LoaderLimits
    effort: Effort
    space: Path
    remark: Callable[[str], None]
    started: float
    end: float

    @property
    def python(self) -> Path:
        """The target's interpreter."""
        return Path(self.facts.interpreter.executable)

    @property
    def label(self) -> str:
        """The installed PIL, for tables."""
        return f"pillow {self.facts.stack.version} (in place)"

    @property
    def kept_seconds(self) -> float:
        """What is kept of the promised time for the table of operations."""
        return self.effort.operations_seconds if self.request.operations else 0.0

    def left(self) -> float:
        """Return the seconds left of the promised time, without those for the table of operations."""
        return self.end - self.kept_seconds - time.monotonic()
