"""Carry out a plan that was consented to."""

import os
from pathlib import Path

from fastinstall.actions.workshop import Workshop
from fastinstall.api.doctor import Examination, examine, judge
from fastinstall.api.known import remember
from fastinstall.api.late import late_interruptions_told
from fastinstall.api.mending import clear_cut_creation, mend
from fastinstall.api.observing import facts_of, receipt_of, recipe_named
from fastinstall.api.planning import index_for, settings_of
from fastinstall.api.renewing import renew_guard
from fastinstall.api.session import Session
from fastinstall.api.target import Target, find
from fastinstall.errors import FastinstallError, RefusedError
from fastinstall.installers.conda.engine import CondaEngine
from fastinstall.journal.glance import past_of
from fastinstall.journal.transaction import Transaction
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.finding import Report
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.steps import ChangeCondaPackages, CreateEnvironment, MakeCondaPackages, PinProject
from fastinstall.probes.cpu import observe_cpu
from fastinstall.probes.facts import Binaries, ObservationRequest
from fastinstall.rules.guard_plan import is_for_guard_alone
from fastinstall.rules.holdings import much_held
from fastinstall.rules.messages import quote
from fastinstall.transaction import Observers, execute


def carry_out(session: Session, plan: Plan) -> Receipt:
    """Carry out a plan; the caller has consent, and has accepted its hazards.

    Returns:
        The receipt of the setup that holds.

    Raises:
        FailedError: something failed; the environment is as it was.
        RefusedError: locked, or something foreign is in the way; as it was.
        DamagedError: something failed, and could not be undone.
    """
    if not plan.steps:
        return _unchanged(plan)
    prefix = Path(plan.environment.prefix)
    if prefix.is_dir():
        mend(session, plan.environment)
    with late_interruptions_told(prefix, plan.verb):
        receipt = renew_guard(session, plan) if is_for_guard_alone(plan) else _put_in_place(session, plan)
        _tell_what_is_held(session, prefix)
        return receipt


def recover_first(session: Session, target: Target) -> None:
    """Bring to its end what an earlier run left unfinished in an existing target, and say so."""
    if target.new is None:
        mend(session, find(session, target))
    else:
        clear_cut_creation(session, target.new.expanduser().absolute())


def _put_in_place(session: Session, plan: Plan) -> Receipt:
    recipe = recipe_named(session, plan.wish.recipe)
    workshop = workshop_for(session, plan, recipe)
    done = execute(plan, workshop, _observers(session, plan, recipe))
    remember(session, plan.environment)
    session.emit(Noted(message=f"PIL was swapped in {done.window_ns / 1e6:.2f} ms"))
    return done.receipt


def examined(session: Session, plan: Plan) -> Report | None:
    """Doctor's word on what a plan has come to, for a person; None where it cannot be had, which changes nothing.

    What holds has been verified by then, and a script asks doctor itself.
    """
    try:
        return examine(session, plan.environment, Examination())
    except FastinstallError as error:
        again = f"fastinstall doctor --prefix {quote(plan.environment.prefix)}"
        session.emit(Noted(message=f"done, but not examined once more: {error.message}; try: {again}", warning=True))
        return None


def _tell_what_is_held(session: Session, prefix: Path) -> None:
    past = past_of(prefix, sized=True)
    sentence = much_held(past.setups, past.held_bytes or 0, prefix)
    if sentence is not None:
        session.emit(Noted(message=sentence))


def workshop_for(session: Session, plan: Plan, recipe: Recipe) -> Workshop:
    """The tools for a plan."""
    create = next((step for step in plan.steps if isinstance(step, CreateEnvironment)), None)
    python = Path(create.python if create is not None else plan.environment.python)
    return Workshop(
        recipe=recipe,
        index=index_for(session, plan.wish, settings_of(session, python)),
        cache=session.own_cache(),
        variables=session.variables,
        emit=session.emit,
        now=session.now(),
        cpu=observe_cpu(
            allowed_cores=len(os.sched_getaffinity(0)), tunables=session.variables.get("GLIBC_TUNABLES", "")
        ),
        engine=_engine(session, plan),
    )


def _engine(session: Session, plan: Plan) -> CondaEngine | None:
    """Who installs conda packages, where the plan has any."""
    steps = (step for step in plan.steps if isinstance(step, MakeCondaPackages | ChangeCondaPackages))
    named = next((step.engine for step in steps), None)
    if named is None:
        return None
    from fastinstall.api.previewing import engine_of  # noqa: PLC0415 (only in conda environments)
    from fastinstall.probes.conda_tool import find_conda  # noqa: PLC0415 (likewise)

    tool = find_conda(session.variables, Path(plan.environment.prefix))
    return engine_of(session, named, tool, offline=plan.wish.offline)


def _observers(session: Session, plan: Plan, recipe: Recipe) -> Observers:
    def facts(interpreter: Interpreter) -> Facts:
        request = ObservationRequest(recipe=recipe, runtime=True, binaries=Binaries.DECODED, interpreter=interpreter)
        return facts_of(session, plan.environment, request)

    def judged(seen: Facts, receipt: Receipt, checks: tuple[str, ...]) -> Report:
        return judge(session, seen, receipt, recipe, checks)

    def conclude(transaction: Transaction, receipt: Receipt) -> None:
        step = next((step for step in plan.steps if isinstance(step, PinProject)), None)
        if step is not None:
            _pin_project(session, plan.environment, receipt, Path(step.directory), transaction)

    return Observers(facts=facts, judge=judged, conclude=conclude)


def _pin_project(
    session: Session, environment: Environment, receipt: Receipt, directory: Path, transaction: Transaction
) -> None:
    from fastinstall.api.project_guarding import pin_its_project, unpinned_project  # noqa: PLC0415 (only with --pin)

    project = unpinned_project(session, environment, directory, receipt)
    if project is not None:
        pin_its_project(session, environment, receipt, project, transaction)


def _unchanged(plan: Plan) -> Receipt:
    receipt = receipt_of(plan.environment)
    if receipt is None:
        raise RefusedError("the plan has no steps, and nothing is set up here", hint="make it again: fastinstall plan")
    return receipt
