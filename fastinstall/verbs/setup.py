"""Set up an environment: make a plan (a new one, or one from a saved plan), and carry it out after consent.

A build with our kernels is proven on this machine before the environment is changed. If the proof fails, the failure is
shown, and the user is asked about the newest earlier version.

The caller runs `setup.recovery.recover_first` before the environment is observed for the plan; `set_up` does not
repeat it.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import FastinstallError, RefusedError, UnprovenError, UsageError
from fastinstall.core.events import Noted
from fastinstall.core.messages import quote
from fastinstall.doctor.registry import check_names, judge_facts
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.finding import EnvironmentReport
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request, Risk
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.interpreter import use_pil
from fastinstall.observe.observation import ObservationRequest, facts_of, observe_committed, observe_recipe_toolchain
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.decide.levels import refuse_unknown
from fastinstall.setup.decide.nothing_to_do import plan_nothing
from fastinstall.setup.decide.planner import warn_about_project
from fastinstall.setup.foresee import foresee_facts, plan_creation
from fastinstall.setup.look import (
    confirm_empty_plan,
    decide_plan,
    find_project,
    foresee_situation,
    request_previous_version,
    start_index,
)
from fastinstall.setup.plan import (
    PLAN_AGAIN,
    Plan,
    PlanConsent,
    SetupOutcome,
    Situation,
    allow_risks,
    compute_facts_digest,
    find_differences,
    select_named_releases,
)
from fastinstall.verbs.examine import Examination, examine


def plan_setup(session: Session, target: NamedTarget, request: Request, *, saved: Plan | None = None) -> Plan:
    """Make the plan of a setup.

    Args:
        session: variables, directories, clock and event listener of this run.
        target: an existing environment, or one to be created.
        request: the options of the setup.
        saved: a saved plan to repeat: only files that it names may be installed; None for a new plan.

    Raises:
        FastinstallError: the environment cannot be observed, the index cannot be read, or no plan is possible.

    Example:
        plan = plan_setup(session, NamedTarget(prefix=Path(".venv")), Request())
        print(plan.summary, [step.describe() for step in plan.steps])
    """
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request, os.uname().machine)
    # A saved plan that builds a wheel must stay valid even if the same wheel has been put into the cache since.
    from_cache = saved is None or (saved.build is not None and bool(saved.build.cached))
    made = plan_creation(target)
    if made is not None:
        return decide_plan(session, foresee_situation(session, recipe, request, made, saved), from_cache=from_cache)
    environment = find_environment(session, target)
    receipt = read_receipt(environment.prefix)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    done = plan_nothing(facts, recipe, request, receipt)
    if done is not None:
        about_project = warn_about_project(find_project(facts), facts) if request.pin else ()
        return replace(done, warnings=(*done.warnings, *about_project))
    # A thread asks pip for its settings, while PIL and the compiler are observed.
    index = start_index(session, recipe, request, environment.python)
    # A wheelhouse may have a finished wheel, which needs no compiler.
    may_build = request.wheelhouse is None or environment.kind is EnvironmentKind.CONDA
    toolchain = RunningProbe(partial(observe_recipe_toolchain, recipe, session.variables)) if may_build else None
    facts = replace(facts, runtime=use_pil(session, environment).result())
    facts = replace(facts, toolchain=toolchain.result() if toolchain is not None else None)
    releases = select_named_releases(saved, index.releases(recipe, facts.interpreter))
    situation = Situation(
        facts=facts, recipe=recipe, request=request, releases=releases, receipt=receipt, project=find_project(facts)
    )
    return decide_plan(session, situation, from_cache=from_cache)


def set_up(session: Session, agreed: Plan, agree: PlanConsent) -> SetupOutcome:
    """Carry out a plan; if its build fails the proof, plan an earlier version, ask for consent, and try that.

    Args:
        session: variables, directories, clock and event listener of this run.
        agreed: the plan, to which the user has consented.
        agree: asks for consent to the plan for an earlier version.

    Raises:
        UnprovenError: the proof failed, and either the user named the version, or there is no earlier version.
        FastinstallError: raised by `carry_out`.

    Example:
        target = NamedTarget(prefix=Path(".venv"))
        recover_first(session, target)
        plan = plan_setup(session, target, Request())
        outcome = set_up(session, plan, agree=lambda other: other)
        print(outcome.receipt.version)
    """
    if not agreed.steps:
        return confirm_empty_plan(agreed)
    from fastinstall.setup.carry_out import carry_out  # a plan without steps does not need it

    while True:
        try:
            return carry_out(session, agreed)
        except UnprovenError as error:
            request = request_previous_version(session, agreed.request, error)
            try:
                earlier = plan_setup(session, name_target(agreed), request)
            except (RefusedError, UsageError):
                raise error from None  # there is no earlier version: report the failed proof
            agreed = agree(earlier)


def examine_result(session: Session, outcome: SetupOutcome, checks: Sequence[str] = ()) -> EnvironmentReport | None:
    """Return doctor's report on the result of a plan, to show to the user.

    If the report cannot be made, emit a warning and return None; the setup remains valid. The facts that were observed
    to verify the setup are judged; without such facts, the environment is observed again.

    Example:
        report = examine_result(session, outcome)
    """
    plan, after = outcome.plan, outcome.after
    try:
        if after is None:
            return examine(session, plan.environment, Examination(checks=tuple(checks)))
        recipe = recipe_named(session, plan.request.recipe)
        return judge_facts(session, observe_committed(after), outcome.receipt, recipe, check_names(tuple(checks)))
    except FastinstallError as error:
        again = f"fastinstall doctor --prefix {quote(plan.environment.prefix)}"
        session.emit(Noted(message=f"done, but not checked again: {error.message}; try: {again}", warning=True))
        return None


def observe_facts(session: Session, target: NamedTarget, recipe: Recipe) -> Facts:
    """Return the facts for a plan, about an existing environment or one to be created; PIL is not run.

    Example:
        facts = observe_facts(session, NamedTarget(new=Path("fast-env")), recipe)
        print(facts.interpreter.version)
    """
    made = plan_creation(target)
    if made is not None:
        return foresee_facts(session, recipe, made)
    return facts_of(session, find_environment(session, target), ObservationRequest(recipe=recipe, toolchain=True))


def name_target(plan: Plan) -> NamedTarget:
    """Return the target of a plan, as flags would name it.

    Example:
        plan = plan_setup(session, name_target(plan), plan.request)
    """
    if plan.create is None:
        return NamedTarget(prefix=plan.environment.prefix)
    return NamedTarget(new=plan.create.prefix, python=plan.create.python)


def decide_saved_plan_again(session: Session, saved: Plan, allowed: Sequence[Risk]) -> Plan:
    """Make a new plan from a saved plan. The risks that its file allows are ignored: anybody may have written the file.

    Args:
        session: variables, directories, clock and event listener of this run.
        saved: the saved plan; only its request, environment and files are used.
        allowed: the risks that the user of this run accepts.

    Returns:
        The new plan to carry out, with URLs from the index that is configured for this run.

    Raises:
        RefusedError: the environment has changed since the plan was saved; or the new plan differs (the message
            names the key); or a file that the plan names is not on offer.
        FastinstallError: raised by `plan_setup`.

    Example:
        refuse_another_environment(session, saved)
        plan = decide_saved_plan_again(session, saved, allowed=(Risk.DOWNGRADE,))
    """
    target, recipe = name_target(saved), recipe_named(session, saved.request.recipe)
    made = plan_creation(target)
    if made is None:
        facts = facts_of(session, saved.environment, ObservationRequest(recipe=recipe))
    else:
        facts = foresee_facts(session, recipe, made)
    if compute_facts_digest(facts) != saved.facts_digest:  # the digest covers only facts that matter for a plan
        stale = f"the plan is stale: {saved.environment.prefix} has changed since it was made"
        raise RefusedError(stale, hint=PLAN_AGAIN)
    anew = plan_setup(session, target, saved.request, saved=saved)
    for key, problem in find_differences(saved, anew):
        raise RefusedError(f"the plan differs from what would be planned now: {key}: {problem}", hint=PLAN_AGAIN)
    return allow_risks(anew, allowed)


def refuse_another_environment(session: Session, saved: Plan) -> None:
    """Raise if a plan names an interpreter that does not belong to the plan's environment; nothing is run.

    Raises:
        RefusedError: the interpreter or the kind of environment differs, or there is no environment.

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
