"""Decide a saved plan again, where it is applied: it may come from anybody."""

import os
from collections.abc import Sequence

from fastinstall.core.directories import user_directories
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.index.downloads import is_downloaded
from fastinstall.model.request import Risk
from fastinstall.observe import observation
from fastinstall.observe.active_environment import find_environment
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.creation import foresee_facts, plan_creation
from fastinstall.plan.plan import Plan, compute_facts_digest
from fastinstall.plan.saved_plan import PLAN_AGAIN, allow_risks, find_differences
from fastinstall.steps.build import Build
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
    if compute_facts_digest(facts) != saved.facts_digest:
        raise RefusedError(
            f"the plan is stale: {saved.environment.prefix} has changed since it was made", hint=PLAN_AGAIN
        )
    try:
        anew = plan_setup(session, target, saved.request, saved=saved)
    except FailedError as error:
        if not saved.request.offline:
            raise
        hint = _name_other_cache(session, saved)
        raise FailedError(error.message, hint=hint, details=error.details) from error
    _refuse_another_cache(session, saved, anew)
    for key, problem in find_differences(saved, anew):
        raise RefusedError(f"the plan differs from what would be planned now: {key}: {problem}", hint=PLAN_AGAIN)
    return allow_risks(anew, allowed)


def _refuse_another_cache(session: Session, saved: Plan, anew: Plan) -> None:
    """Raise if a plan takes a wheel from the cache that this cache does not have: all its steps would differ."""
    taken, there = ({step.cached for step in plan.steps if isinstance(step, Build)} for plan in (saved, anew))
    if taken - there - {""}:
        raise RefusedError(
            f"the plan takes a wheel that was built before, and {session.directories.cache} does not have it",
            hint=_name_other_cache(session, saved),
        )


def _name_other_cache(session: Session, saved: Plan) -> str:
    """Return the hint for a cache that lacks what a plan takes from it; names the user's usual cache if that has it."""
    from fastinstall.wheelbuild.wheel_cache import find_wheel  # noqa: PLC0415 (only before a refusal)

    moving = ("FASTINSTALL_CACHE_DIR", "XDG_CACHE_HOME")
    usual = user_directories({name: value for name, value in session.variables.items() if name not in moving}).cache
    fetched = {artefact.sha256 for step in saved.steps for artefact in step.list_artefacts()} - {""}
    built = {step.cached for step in saved.steps if isinstance(step, Build)} - {""}
    found = [find_wheel(usual, each) is not None for each in built] or [is_downloaded(usual, each) for each in fetched]
    named = quote(usual) if found and all(found) and usual != session.directories.cache else "DIR"
    return (
        f"name the cache that the plan was made with: FASTINSTALL_CACHE_DIR={named} fastinstall apply FILE; "
        f"or {PLAN_AGAIN}"
    )


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
