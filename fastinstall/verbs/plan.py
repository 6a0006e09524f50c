"""Decide what a setup would do, or decide a saved plan again where it is applied; nothing is changed."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core.errors import RefusedError
from fastinstall.core.running_probe import RunningProbe
from fastinstall.model.artefact import Releases
from fastinstall.model.facts import Environment, EnvironmentKind, Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request, Risk
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.interpreter import use_pil
from fastinstall.observe.observation import ObservationRequest, facts_of, observe_means, receipt_of
from fastinstall.observe.recipes import read_recorded_recipe, recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.level_choice import refuse_unknown
from fastinstall.plan.make import (
    add_project,
    decide_plan,
    find_project,
    foresee_facts,
    plan_creation,
    plan_new_environment,
    start_index,
)
from fastinstall.plan.plan import Plan, find_differences
from fastinstall.plan.planner import warn_about_project
from fastinstall.plan.satisfied import plan_nothing
from fastinstall.plan.saved_plan import PLAN_AGAIN, allow_risks, select_named_releases
from fastinstall.plan.situation import Situation
from fastinstall.steps.build import Build
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import find_step


def plan_setup(session: Session, target: NamedTarget, request: Request, *, saved: Plan | None = None) -> Plan:
    """Decide what a setup would do.

    Args:
        session: variables, directories, clock and event listener of this run.
        target: an environment, or one that is to be made.
        request: what is asked for.
        saved: decide anew what this one decided, of the files that it names alone.

    Raises:
        FastinstallError: as planner, probes and index say.

    Example:
        plan = plan_setup(session, NamedTarget(prefix=Path(".venv")), Request())
        print(plan.summary, [step.describe() for step in plan.steps])
    """
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    # Where a saved plan says that a wheel has to be built, it stays right when somebody builds it meanwhile.
    from_cache = saved is None or any(isinstance(step, Build) and bool(step.cached) for step in saved.steps)
    made = plan_creation(session, target)
    if made is not None:
        return plan_new_environment(session, request, made, saved=saved, from_cache=from_cache)
    environment = find_environment(session, target)
    receipt = receipt_of(environment)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    done = plan_nothing(facts, recipe, request, receipt)
    if done is not None:
        return replace(done, warnings=warn_about_project(find_project(facts), facts)) if request.pin else done
    # What was not looked at yet, PIL in use and what compiles, is looked at while pip tells its settings.
    index = start_index(session, recipe, request, Path(environment.python))
    if environment.kind is EnvironmentKind.CONDA:  # whose engine is a tool, too
        wanted = ObservationRequest(recipe=recipe, runtime=True, toolchain=True)
        facts = facts_of(session, environment, wanted)
    else:
        # Not where a wheelhouse may have a wheel that is ready to be taken.
        observe = partial(observe_means, recipe, session.variables)
        toolchain = RunningProbe(observe) if request.wheelhouse is None else None
        facts = replace(facts, runtime=use_pil(session, environment).result())
        facts = replace(facts, toolchain=toolchain.result() if toolchain is not None else None)
    releases = select_named_releases(saved, index.releases(recipe, facts.interpreter))
    situation = Situation(facts=facts, recipe=recipe, request=request, releases=releases, receipt=receipt)
    return decide_plan(session, add_project(situation), from_cache=from_cache)


def observe_facts(session: Session, target: NamedTarget, recipe: Recipe) -> Facts:
    """Return what a plan is made from, of an environment that exists or that is yet to be made; PIL is not run.

    Example:
        facts = observe_facts(session, NamedTarget(new=Path("fast-env")), recipe)
        print(facts.interpreter.version)
    """
    made = plan_creation(session, target)
    if made is not None:
        return foresee_facts(session, recipe, made)
    return facts_of(session, find_environment(session, target), ObservationRequest(recipe=recipe, toolchain=True))


def plan_restoration(session: Session, environment: Environment, receipt: Receipt, releases: Releases) -> Plan:
    """Decide how to put back what a receipt says, at its very version.

    Example:
        plan = plan_restoration(session, environment, receipt, releases)
    """
    recipe = read_recorded_recipe(session, environment, receipt)
    compiling = not releases.prebuilt or environment.kind is EnvironmentKind.CONDA  # whose engine is a tool too
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe, toolchain=compiling))
    request = receipt.request
    situation = Situation(facts=facts, recipe=recipe, request=request, releases=releases, receipt=receipt)
    return decide_plan(session, add_project(replace(situation, restoring=True)))


def name_target(plan: Plan) -> NamedTarget:
    """Return the target of a plan, as flags would name it.

    Example:
        plan = plan_setup(session, name_target(plan), plan.request)
    """
    create = find_step(plan.steps, CreateEnvironment)
    if create is None:
        return NamedTarget(prefix=Path(plan.environment.prefix))
    return NamedTarget(new=Path(create.prefix), python=Path(create.python))


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
        facts = facts_of(session, saved.environment, ObservationRequest(recipe=recipe))
    else:
        facts = foresee_facts(session, recipe, made)
    if not saved.was_made_from(facts):
        stale = f"the plan is stale: {saved.environment.prefix} has changed since it was made"
        raise RefusedError(stale, hint=PLAN_AGAIN)
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
