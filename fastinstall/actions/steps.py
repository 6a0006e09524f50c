"""Steps of a plan, by their kind."""

from typing import TypeVar

from fastinstall.errors import FailedError
from fastinstall.model.codec import kind_of
from fastinstall.model.plan import Plan
from fastinstall.model.steps import Step

S = TypeVar("S", bound=Step)


def step_of(plan: Plan, kind: type[S]) -> S | None:
    """Return the plan's step of this kind, or None if it has none."""
    return next((step for step in plan.steps if isinstance(step, kind)), None)


def required_step(plan: Plan, kind: type[S]) -> S:
    """The step of that kind.

    Raises:
        FailedError: the plan has none.
    """
    step = step_of(plan, kind)
    if step is None:
        raise FailedError(f"the plan has no step {kind_of(kind)!r}", hint="make it again: fastinstall plan")
    return step
