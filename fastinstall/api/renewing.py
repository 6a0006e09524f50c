"""Carry out a plan that renews the start-up guard alone: three renames, verified by doctor's check of it."""

from pathlib import Path

from fastinstall.actions.steps import required_step
from fastinstall.actions.verify import refuse_errors
from fastinstall.api.doctor import judge
from fastinstall.api.guard_files import renew
from fastinstall.api.mending import mended
from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.session import Session
from fastinstall.errors import RefusedError
from fastinstall.journal.stamp import fresh_stamp
from fastinstall.journal.transaction import begin
from fastinstall.model.codec import document
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.steps import Verify
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.messages import fix_command


def renew_guard(session: Session, plan: Plan) -> Receipt:
    """Renew the start-up guard, as `rules.guard_plan` has planned it.

    Returns:
        The receipt of the stack, which stays as it is.

    Raises:
        RefusedError: the environment is locked, or its stack is not ours any more; nothing has changed.
        FailedError: something failed; the environment is as it was.
    """
    prefix = Path(plan.environment.prefix)
    with mended(session, plan.environment) as result:
        store = result.store
        receipt = store.read_receipt()
        request = ObservationRequest(recipe=recipe_named(session, plan.wish.recipe))
        facts = facts_of(session, plan.environment, request)
        core = facts.stack.core
        if receipt is None or core is None or core.sha256 != receipt.core.sha256:
            raise RefusedError("PIL has changed since the plan was made", hint=fix_command(prefix))
        site_packages = facts.interpreter.site_packages
        with begin(store, document("plan", plan), site_packages=site_packages, stamp=fresh_stamp()) as transaction:
            renew(store, facts, receipt, transaction)
            after = facts_of(session, plan.environment, request)
            checks = required_step(plan, Verify).checks
            refuse_errors(judge(session, after, receipt, request.recipe, checks).findings)
            transaction.commit(receipt)
    return receipt
