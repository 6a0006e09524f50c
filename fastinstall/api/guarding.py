"""The guards alone: look at them, install and remove them.

The start-up guard everywhere; in a conda environment also the guard package and the pin.
"""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.api.guard_package import (
    bring_package,
    installed_package,
    missing_package,
    note_removal,
    package_moves,
)
from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.pinning import add_pin, pin_of, pin_removal
from fastinstall.api.session import Session
from fastinstall.errors import RefusedError
from fastinstall.guard.install import GUARD_ENTRIES, guard_target, stage_guard
from fastinstall.guard.status import entries_present
from fastinstall.journal.recover import recover
from fastinstall.journal.stamp import fresh_stamp
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.messages import fix_command
from fastinstall.rules.pins import refuse_unpinnable
from fastinstall.rules.protection import refuse_if_protected
from fastinstall.system.lock import locked


@immutable
class Guards:
    """What guards a stack.

    Attributes:
        installed: the start-up guard is there.
        version: its version; empty if it is not.
        problems: what is wrong with it.
        package: conda's guard package ("fastinstall-guard-1-0"); empty if it is not there.
        pin: our line in conda's pins; empty if it is not there.
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()
    package: str = ""
    pin: str = ""


def guards_of(session: Session, environment: Environment) -> Guards:
    """What of the guards is there, and whether it is as it should be."""
    return _guards(facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, Wish().recipe))))


def install_guard(session: Session, environment: Environment, *, pin: bool = False) -> Guards:
    """Install or renew the guards, for the stack that a setup has put there.

    Args:
        session: the outside world.
        environment: the target.
        pin: also pin the stack in conda's configuration of the environment.

    Raises:
        RefusedError: nothing is set up, the stack in place is not ours any more, or it cannot be pinned.
    """
    with locked(Path(environment.prefix)):
        store, facts, receipt = _ready(session, environment)
        core = facts.stack.core
        if core is None or core.sha256 != receipt.core.sha256:
            raise RefusedError(
                "the PIL in place is not what fastinstall has put there", hint=fix_command(environment.prefix)
            )
        if pin:
            refuse_unpinnable(facts)
        renewing = not facts.guard.installed or bool(facts.guard.problems)
        missing = missing_package(facts, receipt)
        pinning = pin and not pin_of(store.prefix)
        if not renewing and not pinning and missing is None:
            return _guards(facts)
        with _transaction(store, facts, "guard install") as transaction:
            if renewing:
                _renew(store, facts, receipt, transaction)
            if missing is not None:
                bring_package(session, missing, facts, receipt, transaction)
            if pinning:
                add_pin(store.prefix, facts, transaction)
            transaction.commit(receipt)
    return guards_of(session, environment)


def remove_guard(session: Session, environment: Environment) -> Guards:
    """Move the guards out of the way of Python and of conda.

    Raises:
        RefusedError: nothing is set up here.
    """
    with locked(Path(environment.prefix)):
        store, facts, receipt = _ready(session, environment)
        site_packages = Path(facts.interpreter.site_packages)
        present, package = entries_present(site_packages), installed_package(facts)
        if not present and package is None and not pin_of(store.prefix):
            return _guards(facts)
        with _transaction(store, facts, "guard remove") as transaction:
            unpinning = pin_removal(store, transaction.stage)
            transaction.perform((*_moves_out(store, site_packages, present), *package_moves(facts), *unpinning))
            if package is not None:
                note_removal(package, facts, session.now(), transaction)
            transaction.commit(receipt)
    return guards_of(session, environment)


def _guards(facts: Facts) -> Guards:
    state, package = facts.guard, installed_package(facts)
    return Guards(
        installed=state.installed,
        version=state.version,
        problems=state.problems,
        package=package.dist if package is not None else "",
        pin=pin_of(Path(facts.environment.prefix)),
    )


def _renew(store: Store, facts: Facts, receipt: Receipt, transaction: Transaction) -> None:
    site_packages = Path(facts.interpreter.site_packages)
    target = guard_target(site_packages, receipt.core, receipt.stack_version)
    stage_guard(transaction.stage, target, Path(facts.interpreter.executable))
    transaction.perform(_moves_in(store, site_packages))


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
