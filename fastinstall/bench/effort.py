"""Choose how much to measure, so that `bench` takes no longer than promised.

`BenchContext` has the values that all parts of `bench` share: target, machine, remaining time, temporary directory.
"""

import time
from collections.abc import Callable
from pathlib import Path

from fastinstall.bench.report import BenchRequest
from fastinstall.core.values import immutable
from fastinstall.elf.description import ImagingCore
from fastinstall.model.facts import Environment, Facts
from fastinstall.model.machine import LoaderLimits
from fastinstall.observe.session import Session

LEAST_SECONDS = 2.0
"""Seconds that a workload needs for a meaningful result, on an idle machine."""


@immutable
class Effort:
    """How much to measure; the defaults are those of a full run.

    Attributes:
        seconds: time for the complete run, without builds and downloads.
        sample: maximum number of images per workload.
        least_sample: minimum number of images per workload, if the workload has that many.
        pass_seconds: maximum time for one pass over the images.
        least_candidates: number of the most promising candidates that are measured even if other workloads then lack
            time.
        rounds: rounds per process launch; in each, baseline and candidate take one turn.
        starts: process launches per candidate; memory layout alone makes launches differ in speed by a few percent.
        turn_seconds: duration of a turn; a turn is longer if a single pass takes longer.
        rate_seconds: time to measure each number of workers.
        rated: number of loaders that are measured with workers: the baseline and the best candidates.
        operations_seconds: time reserved for the table of operations.
        patience: seconds after which a silent process counts as hung; up to four times as many if loading is slow.
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


@immutable
class BenchContext:
    """The values that all parts of `bench` share.

    Attributes:
        session: variables, directories, clock and event listener of this run.
        environment: the environment whose PIL is the baseline.
        request: the request, from the flags of `bench`.
        facts: the observed facts about the environment.
        core: the imaging core of the installed PIL.
        machine: the limits of loaders on this machine.
        effort: how much to measure.
        space: a temporary directory, removed after the run.
        remark: receives remarks for the report, one sentence each.
        started: when the run began, on the clock of `time.monotonic`.
        end: when the promised time is over, on the same clock.
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
        """Path of the target's interpreter."""
        return Path(self.facts.interpreter.executable)

    @property
    def label(self) -> str:
        """Name of the installed PIL in tables."""
        return f"pillow {self.facts.stack.version} (in place)"

    @property
    def kept_seconds(self) -> float:
        """Seconds of the promised time that are reserved for the table of operations."""
        return self.effort.operations_seconds if self.request.operations else 0.0

    def left(self) -> float:
        """Return the seconds left of the promised time, without those reserved for the table of operations."""
        return self.end - self.kept_seconds - time.monotonic()
