"""Carry out a plan that was agreed to, once."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.apply.guard_renewal import renew_guard
from fastinstall.apply.late_interrupts import report_late_interruptions
from fastinstall.core.errors import FailedError, RefusedError, UnprovenError
from fastinstall.core.events import Noted, ignore
from fastinstall.core.refused_writes import MOVE_CACHE, refuse_noexec
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import judge_facts
from fastinstall.index.execution import ExecutionContext
from fastinstall.journal.snapshot import read_environment_history
from fastinstall.model.conda_engine import CondaEngine
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.finding import EnvironmentReport
from fastinstall.model.history import warn_about_held_bytes
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.known_environments import remember_environment
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of, receipt_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.conda_preview import make_engine
from fastinstall.plan.index_settings import defer_pip_settings, make_index
from fastinstall.plan.plan import Plan
from fastinstall.plan.satisfied import is_for_guard_alone
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import find_step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.wheelbuild.installed_wheels import keep_installed_wheel

if TYPE_CHECKING:
    from fastinstall.apply.orchestrator import Observers

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
    with report_late_interruptions(prefix, plan.verb):
        if is_for_guard_alone(plan):
            outcome = SetupOutcome(plan=plan, receipt=renew_guard(session, plan))
        else:
            refuse_noexec(prefix, "choose another directory for the environment: --new-env DIR")
            recipe = recipe_named(session, plan.request.recipe)
            from fastinstall.apply.orchestrator import execute_plan  # noqa: PLC0415 (not where nothing is to be done)

            context = make_execution_context(session, plan, recipe)
            done = execute_plan(plan, context, _make_observers(session, plan, recipe))
            remember_environment(session, plan.environment)
            _keep_ready_made_wheel(plan, context)
            session.emit(Noted(message=f"the files were replaced in {done.window_ns / 1e6:.2f} ms", detail=True))
            outcome = SetupOutcome(plan=plan, receipt=done.receipt, after=done.after)
        _warn_about_held_bytes(session, prefix)
        return outcome


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


def _warn_about_held_bytes(session: Session, prefix: Path) -> None:
    past = read_environment_history(prefix, sized=True)
    sentence = warn_about_held_bytes(past.setups, past.held_bytes or 0, prefix)
    if sentence is not None:
        session.emit(Noted(message=sentence))


def make_execution_context(session: Session, plan: Plan, recipe: Recipe) -> ExecutionContext:
    """Make the tools for a plan.

    Raises:
        RefusedError: the cache is no place to build in.
    """
    cache = session.own_cache()
    refuse_noexec(cache, MOVE_CACHE)
    create = find_step(plan.steps, CreateEnvironment)
    python = Path(create.python if create is not None else plan.environment.python)
    return ExecutionContext(
        recipe=recipe,
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


def _choose_engine(session: Session, plan: Plan) -> CondaEngine | None:
    """Choose who installs conda packages, where the plan has any."""
    steps = (step for step in plan.steps if isinstance(step, MakeCondaPackages | ChangeCondaPackages))
    named = next((step.engine for step in steps), None)
    if named is None:
        return None
    from fastinstall.observe.conda.executable import find_conda  # noqa: PLC0415 (likewise)

    tool = find_conda(session.variables, Path(plan.environment.prefix))
    return make_engine(session, named, tool, offline=plan.request.offline)


def _make_observers(session: Session, plan: Plan, recipe: Recipe) -> "Observers":
    request = ObservationRequest(recipe=recipe, runtime=True)

    def before(interpreter: Interpreter) -> Facts:
        return facts_of(session, plan.environment, replace(request, interpreter=interpreter))

    def after(interpreter: Interpreter) -> Facts:
        deeply = replace(request, interpreter=interpreter, binaries=Binaries.DECODED)
        return facts_of(session, plan.environment, deeply)

    def judged(seen: Facts, receipt: Receipt, checks: tuple[str, ...]) -> EnvironmentReport:
        return judge_facts(session, seen, receipt, recipe, checks)

    from fastinstall.apply.orchestrator import Observers  # noqa: PLC0415 (likewise)

    return Observers(before=before, after=after, judge=judged)
