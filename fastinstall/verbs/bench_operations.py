"""The operations of PIL in `bench`: the stack in place against the official wheel, or our build against it."""

from dataclasses import replace

from fastinstall.bench.candidates import UnpackedPackages
from fastinstall.bench.effort import BenchContext
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Started
from fastinstall.model.speed import SpeedTable
from fastinstall.proof.timing import SHORT, MeasuredPil, MeasurementConditions, TimingEffort, measure

_QUICK_ROUNDS = 2


_QUICK_SECONDS = 0.015


_START_SECONDS = 1.3  # with the further rounds of the operation that stands for a build


_OPERATION_SECONDS = 0.14


_FEWEST = 5


def compare_operations(
    context: BenchContext, official: UnpackedPackages | None, ours: UnpackedPackages | None
) -> SpeedTable | None:
    """Measure them; None, and a remark, where there is nothing to compare with.

    Where our build is in place, it is held against the official wheel; elsewhere what is in place is held against
    our build, so that the table always reads: this is what fastinstall brings.
    """
    here = MeasuredPil(label=context.label, python=context.python)
    if ours is not None and ours.directory is not None:
        before, after = here, replace(here, label=ours.title, stage=ours.directory)
    elif official is not None and official.directory is not None:
        before, after = replace(here, label=official.title, stage=official.directory), here
    else:
        context.remark("no table of operations: found neither another official wheel nor a fast build to compare with")
        return None
    effort = _choose_effort(context)
    if effort is None:
        context.remark("no table of operations: no time was left; --only operations measures it alone")
        return None
    session = context.session
    session.emit(Started(stage="measure", message=f"operations: {before.label} against {after.label}"))
    conditions = MeasurementConditions(
        cpu=context.facts.cpu.name,
        measured_at=session.now().isoformat(timespec="seconds"),
        variables=session.variables,
        emit=session.emit,
    )
    try:
        return measure(before, after, effort, conditions)
    except FailedError as error:
        context.remark(f"no table of operations: {error.message}")
        return None


def _choose_effort(context: BenchContext) -> TimingEffort | None:
    """Choose every operation; in quick mode those of a short table that there is time for, the decisive ones first."""
    if not context.request.quick:
        return TimingEffort(operations=())
    left = context.effort.seconds - context.elapsed() - _START_SECONDS
    operations = SHORT[: max(0, int(left / _OPERATION_SECONDS))]
    if len(operations) < _FEWEST:
        return None
    if len(operations) < len(SHORT):
        context.remark(f"there was time for {len(operations)} of {len(SHORT)} operations only")
    return TimingEffort(operations=operations, rounds=_QUICK_ROUNDS, seconds=_QUICK_SECONDS)
