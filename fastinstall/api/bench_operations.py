"""The operations of PIL, before and after: the stack in place against the official wheel, or our build against it."""

from pathlib import Path

from fastinstall.actions.prove import unpacked
from fastinstall.api.bench_context import BenchContext
from fastinstall.api.bench_scene import workshop_of
from fastinstall.bench.contestant import Stack, Stacks
from fastinstall.bench.measure import SHORT, Circumstances, Contender, TimingEffort, measure
from fastinstall.errors import FailedError
from fastinstall.model.event import Started
from fastinstall.model.receipt import SpeedTable

_QUICK_ROUNDS = 2
_QUICK_SECONDS = 0.015
_START_SECONDS = 0.8
_OPERATION_SECONDS = 0.14
_FEWEST = 5


def compare_operations(context: BenchContext, stacks: Stacks) -> SpeedTable | None:
    """Measure them; None, and a remark, where there is nothing to compare with.

    Where our build is in place, it is held against the official wheel; elsewhere what is in place is held against
    our build, so that the table always reads: this is what fastinstall brings.
    """
    pair = _pair(context, stacks)
    if pair is None:
        context.remark("no table of operations: there is neither another official wheel nor our build to compare with")
        return None
    effort = _effort(context)
    if effort is None:
        context.remark("no table of operations: no time was left; --only operations measures it alone")
        return None
    context.session.emit(Started(stage="measure", message=f"operations: {pair[0].label} against {pair[1].label}"))
    try:
        return measure(*pair, effort, _circumstances(context))
    except FailedError as error:
        context.remark(f"no table of operations: {error.message}")
        return None


def compare_with_official(context: BenchContext, effort: TimingEffort) -> SpeedTable:
    """The stack in place against the newest official wheel, whatever is in place.

    Raises:
        FailedError: there is no official wheel for this Python, or one of the two cannot be imported.
    """
    workshop = workshop_of(context, offline=False)
    wheels = workshop.index.releases(workshop.recipe, context.facts.interpreter).wheels
    if not wheels:
        raise FailedError("there is no official wheel for this Python to compare with")
    official = Stack(title=f"pillow {wheels[0].version} (official wheel)", directory=unpacked(wheels[0], workshop))
    return measure(_contender(context, official), _in_place(context), effort, _circumstances(context))


def _effort(context: BenchContext) -> TimingEffort | None:
    """Every operation; in quick mode those of a short table that there is time for, the decisive ones first."""
    if not context.wish.quick:
        return TimingEffort(operations=())
    left = context.effort.seconds - context.elapsed() - _START_SECONDS
    count = int(left / _OPERATION_SECONDS)
    if count < _FEWEST:
        return None
    if count < len(SHORT):
        context.remark(f"{len(SHORT[:count])} of {len(SHORT)} operations were measured, for want of time")
    return TimingEffort(operations=SHORT[:count], rounds=_QUICK_ROUNDS, seconds=_QUICK_SECONDS)


def _pair(context: BenchContext, stacks: Stacks) -> tuple[Contender, Contender] | None:
    if stacks.ours is not None and stacks.ours.directory is not None:
        return _in_place(context), _contender(context, stacks.ours)
    if stacks.official is not None and stacks.official.directory is not None:
        return _contender(context, stacks.official), _in_place(context)
    return None


def _in_place(context: BenchContext) -> Contender:
    return Contender(label=context.label, python=context.python)


def _contender(context: BenchContext, stack: Stack) -> Contender:
    return Contender(label=stack.title, python=context.python, stage=Path(stack.directory) if stack.directory else None)


def _circumstances(context: BenchContext) -> Circumstances:
    return Circumstances(
        cpu=context.facts.cpu.name,
        measured_at=context.session.now().isoformat(timespec="seconds"),
        variables=context.session.variables,
        emit=context.session.emit,
    )
