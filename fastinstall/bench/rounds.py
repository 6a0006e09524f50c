"""Two processes that load the same images in turn, A B A B, and what their rounds say: how many times as fast."""

import statistics
from collections.abc import Sequence

from fastinstall.bench.effort import Schedule
from fastinstall.bench.loading import Loading, Measured, NotLoadedError
from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Gain, Outcome, Stage, StageTime, Timing


@immutable
class Turns:
    """What two processes came to, round by round, on the images that both can load.

    Attributes:
        baseline: of the one that is compared with.
        other: of the other one.
        indexes: of these images.
    """

    baseline: tuple[Measured, ...]
    other: tuple[Measured, ...]
    indexes: tuple[int, ...]

    def and_then(self, more: "Turns") -> "Turns":
        """These and later ones, on the same images."""
        return Turns(baseline=self.baseline + more.baseline, other=self.other + more.other, indexes=self.indexes)


def take_turns(baseline: Loading, other: Loading, indexes: Sequence[int], schedule: Schedule) -> Turns:
    """Measure two processes in turn. The first pass of the other one warms it up, and shows what it can load.

    Args:
        baseline: which loads every image.
        other: which may not.
        indexes: of the images that the other one is asked for.
        schedule: how long.

    Raises:
        NotLoadedError: the other one died, hung, or can load none of them.
        FailedError: the baseline died or hung.
    """
    first = other.measure(0.0, indexes=indexes, timeout=schedule.patience)
    common = [each for each in indexes if str(each) not in first.failed]
    ours: list[Measured] = []
    theirs: list[Measured] = []
    for _ in range(schedule.rounds):
        ours.append(measure_baseline(baseline, common, schedule))
        theirs.append(_sound(other.measure(schedule.seconds, indexes=common, timeout=schedule.patience)))
    return Turns(baseline=tuple(ours), other=tuple(theirs), indexes=tuple(common))


def measure_baseline(baseline: Loading, indexes: Sequence[int], schedule: Schedule) -> Measured:
    """One turn of the baseline.

    Raises:
        FailedError: it died, hung, or can load them no longer.
    """
    try:
        return _sound(baseline.measure(schedule.seconds, indexes=indexes, timeout=schedule.patience))
    except NotLoadedError as error:
        raise explain_lost_baseline(error) from error


def explain_lost_baseline(error: NotLoadedError) -> FailedError:
    """What there is to say when there is nothing left to compare with."""
    became = {Outcome.CRASHED: "crashed", Outcome.HUNG: "hung"}.get(error.outcome, "failed")
    return FailedError(
        f"the loader that others are compared with {became}: {error.reason}",
        hint="fastinstall doctor; of a loader of your own: load one image with it",
    )


def compute_gain(turns: Turns) -> Gain:
    """How many times as fast the other one was: the median of the rounds' ratios, and how far they go apart.

    Each round's ratio is of the shortest passes of each image, the least that others on the machine have disturbed.
    """
    ratios = [one.least_ms / other.least_ms for one, other in zip(turns.baseline, turns.other, strict=True)]
    return Gain(
        ratio=round(statistics.median(ratios), 4),
        low=round(min(ratios), 4),
        high=round(max(ratios), 4),
        rounds=len(ratios),
    )


def compute_timing(measured: Sequence[Measured], scale: float = 1.0) -> Timing:
    """The median of several rounds, stage by stage; their sum is the whole.

    Args:
        measured: at least one round of one process.
        scale: how much longer all of it would take at the time that it is compared with, see `compute_drift`.
    """
    stages = {name: scale * statistics.median([each.stages[name] for each in measured]) for name in measured[0].stages}
    whole = sum(stages.values())
    return Timing(
        stages=tuple(
            StageTime(stage=Stage(name), ms=round(ms, 5), share=round(ms / whole, 4) if whole else 0.0)
            for name, ms in stages.items()
        ),
        ms=round(whole, 5),
        images_per_second=round(1000 / whole, 2) if whole else 0.0,
        peak_bytes=max(each.peak_bytes for each in measured),
    )


def compute_drift(turns: Turns, baseline: Sequence[Measured]) -> float:
    """How much slower the machine was when the baseline was measured by itself than in these turns.

    A virtual machine's speed changes within minutes by more than what many a candidate brings. Rates that were taken at
    different times are told as at one time.

    Args:
        turns: in which both were measured.
        baseline: its own rounds; none, or such on other images, tell nothing.
    """
    if not baseline or baseline[0].images != len(turns.indexes):
        return 1.0
    alone, beside = (statistics.median([each.ms for each in rounds]) for rounds in (baseline, turns.baseline))
    return alone / beside


def _sound(measured: Measured) -> Measured:
    """What failed after it had been loaded once is no measurement of the same images."""
    if measured.failed:
        reason = next(iter(measured.failed.values()))
        raise NotLoadedError(Outcome.FAILED, f"{len(measured.failed)} images failed that it had loaded: {reason}")
    return measured
