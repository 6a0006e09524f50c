"""Carry out a plan, and where its version does not prove, plan the newest one before it; never silently.

A merge onto a version that nobody has tried is tried and proven on this machine. Where it fails, nothing
was touched yet: the failure is told, and whoever agreed to the first plan is asked for the next one.
"""

from collections.abc import Callable
from dataclasses import replace

from fastinstall.api.planning import plan
from fastinstall.api.session import Session
from fastinstall.api.setup import carry_out
from fastinstall.api.target import Target
from fastinstall.errors import RefusedError, UnprovenError, UsageError
from fastinstall.model.event import Noted
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.wish import Wish

Agree = Callable[[Plan], Plan]
"""Asks for consent to a plan, and gives the plan with what was accepted; raises where it is declined."""


def carry_out_proven(session: Session, target: Target, agreed: Plan, agree: Agree) -> tuple[Plan, Receipt]:
    """Carry out a plan that was agreed to, or the next one that proves.

    Args:
        session: the outside world.
        target: what the plan was made for.
        agreed: the plan, consented to.
        agree: asks for consent to another one.

    Returns:
        The plan that was carried out, and the receipt of the setup that holds.

    Raises:
        UnprovenError: it did not prove, and its version was named, or no earlier one is left.
        FastinstallError: as `carry_out` says.
    """
    while True:
        try:
            return agreed, carry_out(session, agreed)
        except UnprovenError as error:
            agreed = agree(_plan_before(session, target, agreed, error))


def before(session: Session, wish: Wish, error: UnprovenError) -> Wish:
    """The wish for the newest version before the one that failed; says so.

    Raises:
        UnprovenError: the version was named, so no other will do.
    """
    if wish.version is not None:
        raise error
    for line in error.details:
        session.emit(Noted(message=line))
    message = f"{error.message}: {error.version} is not installed; looking for the newest version before it"
    session.emit(Noted(message=message, warning=True))
    return replace(wish, avoid=(*wish.avoid, error.version))


def _plan_before(session: Session, target: Target, failed: Plan, error: UnprovenError) -> Plan:
    wish = before(session, failed.wish, error)
    try:
        return plan(session, target, wish)
    except (RefusedError, UsageError):
        raise error from None  # there is no earlier version: what failed is what has to be told
