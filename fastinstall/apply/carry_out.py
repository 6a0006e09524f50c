"""Carry out a plan that was agreed to, once: all of it, or the renewal of the start-up guard alone."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fastinstall.apply.expectations import estimate_seconds
from fastinstall.apply.late_interrupts import report_late_interruptions
from fastinstall.apply.recovery import lock_recovered_environment
from fastinstall.core.codec import document
from fastinstall.core.errors import FailedError, RefusedError, UnprovenError
from fastinstall.core.events import Noted, RemainingTime, ignore
from fastinstall.core.messages import fix_command
from fastinstall.core.refused_writes import MOVE_CACHE, refuse_noexec
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import judge_facts
from fastinstall.guard.status import renew_guard_files
from fastinstall.index.execution import ExecutionContext
from fastinstall.journal.stamp import make_stamp
from fastinstall.journal.transaction import begin
from fastinstall.model.conda import CondaEngine
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Request
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.environments import remember_environment
from fastinstall.observe.observation import ObservationRequest, facts_of, receipt_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.make import defer_pip_settings, make_engine, make_index
from fastinstall.plan.plan import Plan
from fastinstall.plan.satisfied import is_for_guard_alone
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import find_step, get_required_step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.verify import Verify, refuse_errors
from fastinstall.wheelbuild.installed_wheels import keep_installed_wheel

PlanConsent = Callable[[Plan], Plan]
"""Asks for consent to a plan, and gives the plan with what was accepted; raises where it is declined."""


@immutable
class SetupOutcome:
    """What came of a plan.

    Attributes:
        plan: the one that was carried out.
        receipt: of the setup that holds.
        after: the target as verified, or None if less was verified than doctor checks.
    """

    plan: Plan
    receipt: Receipt
    after: Facts | None = None


def carry_out(session: Session, plan: Plan) -> SetupOutcome:
    """Carry out a plan; the caller has mended the environment, has consent, and has accepted its risks.

    Raises:
        FailedError: something failed; the environment is as it was.
        RefusedError: locked, or something foreign is in the way; as it was.
        EnvironmentDamagedError: something failed, and could not be undone.
    """
    if not plan.steps:
        receipt = receipt_of(plan.environment)
        if receipt is None:
            hint = "make a new plan: fastinstall plan"
            raise RefusedError("the plan has no steps, and nothing is set up here", hint=hint)
        return SetupOutcome(plan=plan, receipt=receipt)
    prefix = Path(plan.environment.prefix)
    session.emit(RemainingTime(seconds=estimate_seconds(plan)))
    with report_late_interruptions(prefix, plan.verb):
        if is_for_guard_alone(plan):
            return SetupOutcome(plan=plan, receipt=renew_guard(session, plan))
        refuse_noexec(prefix, "choose another directory for the environment: --new-env DIR")
        from fastinstall.apply.orchestrator import execute_plan  # noqa: PLC0415 (not where nothing is to be done)

        context = make_execution_context(session, plan)
        receipt, after = execute_plan(plan, context, session)
        remember_environment(session, plan.environment)
        _keep_ready_made_wheel(plan, context)
        return SetupOutcome(plan=plan, receipt=receipt, after=after)


def request_previous_version(session: Session, request: Request, error: UnprovenError) -> Request:
    """Return the request for the newest version before the one that failed; tells the user.

    Raises:
        UnprovenError: the version was named, so no other will do.
    """
    if request.version is not None:
        raise error
    for line in error.details:
        session.emit(Noted(message=line))
    message = f"{error.message}: {error.version} is not installed; looking for the newest version before it"
    session.emit(Noted(message=message, warning=True))
    return replace(request, avoid=(*request.avoid, error.version))


def make_execution_context(session: Session, plan: Plan) -> ExecutionContext:
    """Make the tools for a plan.

    Raises:
        RefusedError: the cache is no place to build in.
    """
    cache = session.own_cache()
    refuse_noexec(cache, MOVE_CACHE)
    create = find_step(plan.steps, CreateEnvironment)
    python = Path(create.python if create is not None else plan.environment.python)
    return ExecutionContext(
        recipe=recipe_named(session, plan.request.recipe),
        index=make_index(session, plan.request, defer_pip_settings(session, python)),
        cache=cache,
        variables=session.variables,
        emit=session.emit,
        now=session.now(),
        cpu=observe_cpu(
            allowed_cores=len(os.sched_getaffinity(0)), tunables=session.variables.get("GLIBC_TUNABLES", "")
        ),
        engine=_choose_engine(session, plan),
    )


def renew_guard(session: Session, plan: Plan) -> Receipt:
    """Renew the start-up guard, as `plan.satisfied.plan_nothing` has planned it.

    Returns:
        The receipt of the stack, which stays as it is.

    Raises:
        RefusedError: the environment is locked, or its stack is not ours any more; nothing has changed.
        FailedError: something failed; the environment is as it was.
    """
    prefix = Path(plan.environment.prefix)
    with lock_recovered_environment(session, plan.environment) as result:
        store = result.store
        receipt = store.read_receipt()
        request = ObservationRequest(recipe=recipe_named(session, plan.request.recipe))
        facts = facts_of(session, plan.environment, request)
        core = facts.stack.core
        if receipt is None or core is None or core.sha256 != receipt.core.sha256:
            raise RefusedError("PIL has changed since the plan was made", hint=fix_command(prefix))
        site_packages = facts.interpreter.site_packages
        with begin(store, document("plan", plan), site_packages=site_packages, stamp=make_stamp()) as transaction:
            renew_guard_files(store, facts, receipt, transaction)
            after = facts_of(session, plan.environment, request)
            checks = get_required_step(plan.steps, Verify).checks
            refuse_errors(judge_facts(session, after, receipt, request.recipe, checks).findings)
            transaction.commit(receipt)
    return receipt


def _keep_ready_made_wheel(plan: Plan, context: ExecutionContext) -> None:
    """Keep a wheel that nobody built here for repairs; without it, a repair asks where it came from."""
    step = find_step(plan.steps, Build)
    if step is None or step.prebuilt is None:
        return
    try:
        wheel = context.index.fetch(step.prebuilt, context.cache, ignore)
        keep_installed_wheel(context.cache, Path(plan.environment.prefix), wheel, step.prebuilt.sha256)
    except (OSError, FailedError) as error:
        context.emit(Noted(message=f"{step.prebuilt.filename} is not kept for repairs: {error}", warning=True))


def _choose_engine(session: Session, plan: Plan) -> CondaEngine | None:
    """Choose who installs conda packages, where the plan has any."""
    steps = (step for step in plan.steps if isinstance(step, MakeCondaPackages | ChangeCondaPackages))
    named = next((step.engine for step in steps), None)
    if named is None:
        return None
    from fastinstall.observe.conda.executable import find_conda  # noqa: PLC0415 (likewise)

    tool = find_conda(session.variables, Path(plan.environment.prefix))
    return make_engine(session, named, tool, offline=plan.request.offline)
