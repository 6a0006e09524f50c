"""The guards alone: look at them, install and remove them.

The start-up guard everywhere, in a conda environment also the guard package; pins where they are asked for, of the
environment and of the project that it belongs to.
"""

from dataclasses import replace
from pathlib import Path

from fastinstall.api.guard_files import moves_out, renew
from fastinstall.api.guard_package import (
    bring_package,
    installed_package,
    missing_package,
    note_removal,
    package_moves,
)
from fastinstall.api.late import late_interruptions_told
from fastinstall.api.mending import mended
from fastinstall.api.observing import facts_of, receipt_of, recorded_recipe
from fastinstall.api.pinning import pin_of, pin_removal, pin_to_add
from fastinstall.api.project_guarding import (
    pin_its_project,
    pinned_project,
    project_pins,
    unpin_alone,
    unpin_its_project,
    unpinned_project,
)
from fastinstall.api.session import Session
from fastinstall.errors import RefusedError
from fastinstall.guard.status import entries_present
from fastinstall.journal.stamp import fresh_stamp
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts
from fastinstall.model.guards import Guards
from fastinstall.model.receipt import Receipt
from fastinstall.pins.recognition import project_of
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.messages import fix_command, quote
from fastinstall.rules.pins import is_of_pixi, refuse_unpinnable
from fastinstall.rules.protection import refuse_if_protected

_REMOVAL = "guard remove"


def guards_of(
    session: Session, environment: Environment, *, measured: bool = False, project: Path | None = None
) -> Guards:
    """What of the guards is there, and whether it is as it should be.

    Args:
        session: the outside world.
        environment: the target.
        measured: also measure what the start-up guard costs, and read what it has told.
        project: whose pin is told too, beside that of the project which the environment lies in.
    """
    receipt = receipt_of(environment)
    recipe = recorded_recipe(session, environment, receipt)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    guards = _guards(facts, receipt)
    guards = replace(guards, pins=(*guards.pins, *project_pins(project, guards.pins)))
    return _measured(guards, facts) if measured else guards


def install_guard(
    session: Session, environment: Environment, *, pin: bool = False, project: Path | None = None
) -> Guards:
    """Install or renew the guards, for the stack that a setup has put there.

    Args:
        session: the outside world.
        environment: the target.
        pin: also pin the stack, in the configuration of the environment and of its project.
        project: the directory of that project; None for the one that the environment lies in, if there is one.

    Raises:
        RefusedError: nothing is set up, the stack in place is not ours any more, or it cannot be pinned.
    """
    verb = "guard install --pin" if pin else "guard install"
    with late_interruptions_told(Path(environment.prefix), verb), mended(session, environment) as result:
        store, facts, receipt = _ready(session, environment, result.store)
        core = facts.stack.core
        if core is None or core.sha256 != receipt.core.sha256:
            raise RefusedError(
                f"{facts.stack.directory or 'PIL'}: not what fastinstall has put there",
                hint=fix_command(environment.prefix),
            )
        owner = project_of(store.prefix, project) if pin else None
        by_pixi = is_of_pixi(environment.prefix) and owner is not None
        if pin and not by_pixi:  # pixi reads no pins but its own
            refuse_unpinnable(facts)
        renewing = not facts.guard.installed or bool(facts.guard.problems)
        missing = missing_package(facts, receipt)
        add_pin = pin_to_add(session, facts, receipt, owner) if pin and not by_pixi else None
        belongs = unpinned_project(session, environment, project, receipt) if pin else None
        if not renewing and add_pin is None and missing is None and belongs is None:
            return guards_of(session, environment, project=project)
        with _transaction(store, facts, verb) as transaction:
            if renewing:
                renew(store, facts, receipt, transaction)
            if missing is not None:
                bring_package(session, missing, facts, receipt, transaction)
            if add_pin is not None:
                add_pin(transaction)
            if belongs is not None:
                pin_its_project(session, environment, receipt, belongs, transaction)
            transaction.commit(_wishing(receipt, pin=pin or receipt.wish.pin))
    return guards_of(session, environment, project=project)


def remove_guard(session: Session, environment: Environment, *, project: Path | None = None) -> Guards:
    """Move the guards out of the way of Python, of its installers and of conda, and take the pins back.

    Raises:
        RefusedError: nothing is set up here.
    """
    with late_interruptions_told(Path(environment.prefix), _REMOVAL), mended(session, environment) as result:
        if receipt_of(environment) is None and unpin_alone(session, environment, project):
            return guards_of(session, environment)
        store, facts, receipt = _ready(session, environment, result.store)
        site_packages = Path(facts.interpreter.site_packages)
        present, package = entries_present(site_packages), installed_package(facts)
        belongs = pinned_project(session, environment, project)
        pinned = receipt.wish.pin or bool(pin_of(store.prefix)) or belongs is not None
        if not present and package is None and not pinned:
            return guards_of(session, environment)
        with _transaction(store, facts, _REMOVAL) as transaction:
            unpinning = pin_removal(store, transaction.stage)
            transaction.perform((*moves_out(store, site_packages), *package_moves(facts), *unpinning))
            if package is not None:
                note_removal(package, facts, session.now(), transaction)
            if belongs is not None:
                unpin_its_project(session, store, belongs, transaction)
            transaction.commit(_wishing(receipt, pin=False))
    return guards_of(session, environment)


def _wishing(receipt: Receipt, *, pin: bool) -> Receipt:
    """The receipt with what is wished from now on: doctor misses a pin that was asked for, not one that was removed."""
    return replace(receipt, wish=replace(receipt.wish, pin=pin))


def _guards(facts: Facts, receipt: Receipt | None) -> Guards:
    state, package = facts.guard, installed_package(facts)
    return Guards(
        installed=state.installed,
        version=state.version,
        problems=state.problems,
        installed_by=f"fastinstall {receipt.tool_version}" if receipt is not None else "",
        installed_at=receipt.created_at if receipt is not None else "",
        package=package.dist if package is not None else "",
        pins=facts.pins,
    )


def _measured(guards: Guards, facts: Facts) -> Guards:
    from fastinstall.guard.cost import measure_cost  # noqa: PLC0415 (starts the target's Python many times)
    from fastinstall.guard.events import read_events  # noqa: PLC0415 (only for people who look)

    python, site_packages = Path(facts.interpreter.executable), Path(facts.interpreter.site_packages)
    cost = measure_cost(python, site_packages) if guards.installed else None
    return replace(guards, cost=cost, events=read_events(Path(facts.environment.prefix)))


def _ready(session: Session, environment: Environment, store: Store) -> tuple[Store, Facts, Receipt]:
    receipt = store.read_receipt()
    if receipt is None:
        raise RefusedError(
            f"{environment.prefix}: fastinstall has set up nothing here that could be guarded",
            hint=f"fastinstall setup --prefix {quote(environment.prefix)}",
        )
    facts = facts_of(session, environment, ObservationRequest(recipe=recorded_recipe(session, environment, receipt)))
    refuse_if_protected(facts)
    return store, facts, receipt


def _transaction(store: Store, facts: Facts, verb: str) -> Transaction:
    document = {"schema": "fastinstall.plan/1", "summary": verb, "verb": verb}
    return begin(store, document, site_packages=facts.interpreter.site_packages, stamp=fresh_stamp())
