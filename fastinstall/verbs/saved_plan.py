"""Decide a saved plan again, where it is applied: it may come from anybody."""

import os
from collections.abc import Sequence

from fastinstall.core.errors import RefusedError
from fastinstall.model.request import Risk
from fastinstall.observe import observation
from fastinstall.observe.environments import find_environment
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.make import foresee_facts, plan_creation
from fastinstall.plan.plan import Plan
from fastinstall.plan.saved_plan import PLAN_AGAIN, allow_risks, find_differences
from fastinstall.verbs.plan import name_target, plan_setup


def decide_saved_plan_again(session: Session, saved: Plan, allowed: Sequence[Risk]) -> Plan:
    """Decide a saved plan anew: it may come from anybody, and what it says of risks and permissions does not count.

    Args:
        session: variables, directories, clock and event listener of this run.
        saved: its request, environment and files count.
        allowed: risks that whoever carries it out accepts.

    Returns:
        The plan to carry out: what was decided now, with addresses of the index that is configured here.

    Raises:
        RefusedError: the facts that it was made from have changed. Or what it says differs from what is decided; names
            the key. Or a file of it is not on offer.
        FastinstallError: as `plan_setup`.

    Example:
        refuse_another_environment(session, saved)
        plan = decide_saved_plan_again(session, saved, allowed=(Risk.DOWNGRADE,))
    """
    target, recipe = name_target(saved), recipe_named(session, saved.request.recipe)
    made = plan_creation(session, target)
    if made is None:
        facts = observation.facts_of(session, saved.environment, observation.ObservationRequest(recipe=recipe))
    else:
        facts = foresee_facts(session, recipe, made)
    if not saved.was_made_from(facts):
        raise RefusedError(
            f"the plan is stale: {saved.environment.prefix} has changed since it was made", hint=PLAN_AGAIN
        )
    anew = plan_setup(session, target, saved.request, saved=saved)
    for key, problem in find_differences(saved, anew):
        raise RefusedError(f"the plan differs from what would be planned now: {key}: {problem}", hint=PLAN_AGAIN)
    return allow_risks(anew, allowed)


def refuse_another_environment(session: Session, saved: Plan) -> None:
    """Raise if a plan names another interpreter than one of its environment; it is not run.

    Raises:
        RefusedError: it does, or there is no environment.

    Example:
        refuse_another_environment(session, saved)
    """
    target, named = name_target(saved), saved.environment
    if target.new is not None:
        return
    there = find_environment(session, target)
    same = named.python.parent == there.python.parent
    if named.kind is not there.kind or not same or os.path.realpath(named.python) != os.path.realpath(there.python):
        raise RefusedError(
            f"the plan is for the {named.kind} of {named.python}, "
            f"and {there.prefix} is the {there.kind} of {there.python}",
            hint=PLAN_AGAIN,
        )
