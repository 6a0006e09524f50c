"""The start-up guard alone: look at it, install it, remove it."""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.session import Session
from fastinstall.errors import RefusedError
from fastinstall.guard.install import GUARD_ENTRIES, guard_target, stage_guard
from fastinstall.guard.status import entries_present, observe_guard
from fastinstall.journal.recover import recover
from fastinstall.journal.stamp import fresh_stamp
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, GuardState
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.messages import fix_command
from fastinstall.rules.protection import refuse_if_protected
from fastinstall.system.lock import locked


def guard_state(session: Session, environment: Environment) -> GuardState:
    """What of the guard is there, and whether it is as it should be."""
    return facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, Wish().recipe))).guard


def install_guard(session: Session, environment: Environment) -> GuardState:
    """Install or renew it, for the stack that a setup has put there.

    Raises:
        RefusedError: nothing is set up, or the stack in place is not ours any more.
    """
    with locked(Path(environment.prefix)):
        store, facts, receipt = _ready(session, environment)
        core = facts.stack.core
        if core is None or core.sha256 != receipt.core.sha256:
            raise RefusedError(
                "the PIL in place is not what fastinstall has put there", hint=fix_command(environment.prefix)
            )
        if facts.guard.installed and not facts.guard.problems:
            return facts.guard
        site_packages = Path(facts.interpreter.site_packages)
        with _transaction(store, facts, "guard install") as transaction:
            target = guard_target(site_packages, receipt.core, receipt.stack_version)
            stage_guard(transaction.stage, target, Path(facts.interpreter.executable))
            transaction.perform(_moves_in(store, site_packages))
            transaction.commit(receipt)
        return observe_guard(site_packages, core)


def remove_guard(session: Session, environment: Environment) -> GuardState:
    """Move it out of the way of Python.

    Raises:
        RefusedError: nothing is set up here.
    """
    with locked(Path(environment.prefix)):
        store, facts, receipt = _ready(session, environment)
        site_packages = Path(facts.interpreter.site_packages)
        present = entries_present(site_packages)
        if present:
            with _transaction(store, facts, "guard remove") as transaction:
                transaction.perform(_moves_out(store, site_packages, present))
                transaction.commit(receipt)
        return observe_guard(site_packages, facts.stack.core)


def _ready(session: Session, environment: Environment) -> tuple[Store, Facts, Receipt]:
    store = Store(Path(environment.prefix))
    recover(store)
    receipt = store.read_receipt()
    if receipt is None:
        raise RefusedError(
            f"{environment.prefix}: fastinstall has set up nothing here that could be guarded",
            hint=f"fastinstall setup --prefix {environment.prefix}",
        )
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, receipt.recipe)))
    refuse_if_protected(facts)
    return store, facts, receipt


def _transaction(store: Store, facts: Facts, verb: str) -> Transaction:
    document = {"schema": "fastinstall.plan/1", "summary": verb}
    return begin(store, document, site_packages=facts.interpreter.site_packages, stamp=fresh_stamp())


def _moves_in(store: Store, site_packages: Path) -> Sequence[Move]:
    present = entries_present(site_packages)
    return [
        Move(
            kind=MoveKind.EXCHANGE if name in present else MoveKind.IN,
            live=store.relative(site_packages / name),
            kept=f"stage/{name}",
        )
        for name in GUARD_ENTRIES
    ]


def _moves_out(store: Store, site_packages: Path, present: Sequence[str]) -> Sequence[Move]:
    # The hooks go before the package that they name, so that no start of Python meets one without the other.
    return [
        Move(kind=MoveKind.OUT, live=store.relative(site_packages / name), kept=f"aside/{name}")
        for name in reversed(present)
    ]
