"""Renew the start-up guard alone: three renames, verified by doctor's check."""

from pathlib import Path

from fastinstall.apply.recovery import lock_recovered_environment
from fastinstall.core.codec import document
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import fix_command
from fastinstall.doctor.registry import judge_facts
from fastinstall.guard.status import renew_guard_files
from fastinstall.journal.stamp import make_stamp
from fastinstall.journal.transaction import begin
from fastinstall.model.receipt import Receipt
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.kinds import get_required_step
from fastinstall.steps.verify import Verify, refuse_errors


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
