"""The operations of PIL, before and after: the stack in place against the official wheel, or our build against it."""

from pathlib import Path

from fastinstall.actions.prove import unpacked
from fastinstall.api.bench_context import Scene
from fastinstall.api.bench_scene import workshop_of
from fastinstall.bench.contestant import Stack, Stacks
from fastinstall.bench.measure import SHORT, Circumstances, Contender, Effort, measure
from fastinstall.errors import FailedError
from fastinstall.model.event import Started
from fastinstall.model.receipt import SpeedTable

_QUICK_ROUNDS = 2
_QUICK_SECONDS = 0.015
_START_SECONDS = 0.8
_OPERATION_SECONDS = 0.14
_FEWEST = 5


def compare_operations(scene: Scene, stacks: Stacks) -> SpeedTable | None:
    """Measure them; None, and a remark, where there is nothing to compare with.

    Where our build is in place, it is held against the official wheel; elsewhere what is in place is held against
    our build, so that the table always reads: this is what fastinstall brings.
    """
    pair = _pair(scene, stacks)
    if pair is None:
        scene.remark("no table of operations: there is neither another official wheel nor our build to compare with")
        return None
    effort = _effort(scene)
    if effort is None:
        scene.remark("no table of operations: no time was left; --only operations measures it alone")
        return None
    scene.session.emit(Started(stage="measure", message=f"operations: {pair[0].label} against {pair[1].label}"))
    try:
        return measure(*pair, effort, _circumstances(scene))
    except FailedError as error:
        scene.remark(f"no table of operations: {error.message}")
        return None


def against_official(scene: Scene, effort: Effort) -> SpeedTable:
    """The stack in place against the newest official wheel, whatever is in place.

    Raises:
        FailedError: there is no official wheel for this Python, or one of the two cannot be imported.
    """
    workshop = workshop_of(scene, offline=False)
    wheels = workshop.index.releases(workshop.recipe, scene.facts.interpreter).wheels
    if not wheels:
        raise FailedError("there is no official wheel for this Python to compare with")
    official = Stack(title=f"pillow {wheels[0].version} (official wheel)", directory=unpacked(wheels[0], workshop))
    return measure(_contender(scene, official), _in_place(scene), effort, _circumstances(scene))


def _effort(scene: Scene) -> Effort | None:
    """Every operation; in quick mode those of a short table that there is time for, the decisive ones first."""
    if not scene.wish.quick:
        return Effort(operations=())
    left = scene.effort.seconds - scene.elapsed() - _START_SECONDS
    count = int(left / _OPERATION_SECONDS)
    if count < _FEWEST:
        return None
    if count < len(SHORT):
        scene.remark(f"{len(SHORT[:count])} of {len(SHORT)} operations were measured, for want of time")
    return Effort(operations=SHORT[:count], rounds=_QUICK_ROUNDS, seconds=_QUICK_SECONDS)


def _pair(scene: Scene, stacks: Stacks) -> tuple[Contender, Contender] | None:
    if stacks.ours is not None and stacks.ours.directory is not None:
        return _in_place(scene), _contender(scene, stacks.ours)
    if stacks.official is not None and stacks.official.directory is not None:
        return _contender(scene, stacks.official), _in_place(scene)
    return None


def _in_place(scene: Scene) -> Contender:
    return Contender(label=scene.label, python=scene.python)


def _contender(scene: Scene, stack: Stack) -> Contender:
    return Contender(label=stack.title, python=scene.python, stage=Path(stack.directory) if stack.directory else None)


def _circumstances(scene: Scene) -> Circumstances:
    return Circumstances(
        cpu=scene.facts.cpu.name,
        measured_at=scene.session.now().isoformat(timespec="seconds"),
        variables=scene.session.variables,
        emit=scene.session.emit,
    )
