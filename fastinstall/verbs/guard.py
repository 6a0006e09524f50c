"""The actions of `guard`: inspect, install and remove the guards, pin a project, and accept a replacement.

Every environment gets the start-up guard, and a conda environment also the guard package. An environment is pinned only
on request. A project is not changed: `pin_project` makes a diff, which the user applies.

Installing or removing the guard package adds a revision to conda's history. The package file stays in the channel
inside the environment, so that it can be installed again offline.

`guard accept` keeps the Pillow that replaced the stack, and removes guards, pins and the receipt in one transaction.
Neither the command nor its rollback touches PIL; the rollback restores the receipt, so that doctor warns again.
"""

import os
from dataclasses import replace
from pathlib import Path

from fastinstall.conda.history_file import add_revision
from fastinstall.conda.moves import list_linked_moves
from fastinstall.core.directories import refuse_homeless
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import fix_command, quote
from fastinstall.doctor.registry import judge_facts
from fastinstall.guard.pinning import (
    find_installed_wheel_of,
    find_named_project_pins,
    find_pin_hidden_by_shell,
    list_pin_removal_moves,
    prepare_pin,
    read_pin,
)
from fastinstall.guard.status import Guards, list_guard_removal_moves, read_events, renew_guard_files
from fastinstall.journal.conda_meta import claims
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.stamp import make_stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage
from fastinstall.model.conda_packages import GUARD, REGISTRATION
from fastinstall.model.facts import Environment, Facts
from fastinstall.model.finding import Status
from fastinstall.model.guards import PinKind
from fastinstall.model.history import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.observe.conda.executable import find_conda
from fastinstall.observe.guard_files import entries_present
from fastinstall.observe.installed_pins import refuse_unpinnable
from fastinstall.observe.observation import recorded_facts
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.pins.pin_project import ProjectChange, make_pin
from fastinstall.pins.recognition import project_of
from fastinstall.pins.tools import TOOLS
from fastinstall.setup.decide.protection import refuse_if_protected
from fastinstall.setup.recovery import change_environment

_STAGED = "conda"


def guards_of(
    session: Session, environment: Environment, *, measured: bool = False, project: Path | None = None
) -> Guards:
    """Return the installed guards, and their problems.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        measured: also read the reports of the start-up guard, and check whether this shell makes pip ignore a pin.
        project: another project whose pin is reported, in addition to the environment's own project.

    Example:
        guards = guards_of(session, environment, measured=True)
        print(guards.installed, guards.events)
    """
    receipt = read_receipt(environment.prefix)
    facts = recorded_facts(session, environment, receipt)
    state, package, prefix = facts.guard, _find_package(facts), Path(environment.prefix)
    is_pinned = any(pin.kind == PinKind.PIP for pin in facts.pins)
    hidden = find_pin_hidden_by_shell(session, prefix) if measured and is_pinned else ()
    return Guards(
        installed=state.installed,
        version=state.version,
        problems=(*state.problems, *hidden),
        installed_by=f"fastinstall {receipt.tool_version}" if receipt is not None else "",
        installed_at=receipt.created_at if receipt is not None else "",
        package=package.dist if package is not None else "",
        pins=(*facts.pins, *find_named_project_pins(prefix, project, facts.pins)),
        events=read_events(prefix) if measured else (),
    )


def install_guard(session: Session, environment: Environment, *, pin: bool = False) -> Guards:
    """Install or renew the guards of a stack that a setup installed.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        pin: also pin the stack, in the environment's configuration.

    Raises:
        RefusedError: nothing is set up, the stack was replaced, or the stack cannot be pinned.

    Example:
        guards = install_guard(session, environment, pin=True)
    """
    verb = "guard install --pin" if pin else "guard install"
    with change_environment(session, environment, verb) as locked:
        store, (facts, receipt) = locked.store, _prepare_guarding(session, environment, locked.store)
        core, guard = facts.stack.core, receipt.conda.guard if receipt.conda is not None else None
        if core is None or core.sha256 != receipt.core.sha256:
            what = f"{facts.stack.directory or 'PIL'}: not what fastinstall installed"
            raise RefusedError(what, hint=fix_command(environment.prefix))
        if pin:
            refuse_unpinnable(facts)
        renewing = not facts.guard.installed or bool(facts.guard.problems)
        missing = guard if _find_package(facts) is None else None
        add_pin = prepare_pin(session, facts, receipt, project_of(store.prefix)) if pin else None
        if not renewing and add_pin is None and missing is None:
            return guards_of(session, environment)
        with _begin_transaction(store, facts, verb) as transaction:
            if renewing:
                renew_guard_files(store, facts, receipt, transaction, session.program)
            if missing is not None:
                _bring_package(session, missing, facts, receipt, transaction)
            if add_pin is not None:
                add_pin(transaction)
            # doctor reports a missing pin only if the request asks for one
            requested = replace(receipt.request, pin=pin or receipt.request.pin)
            transaction.commit(replace(receipt, request=requested))
    return guards_of(session, environment)


def remove_guard(session: Session, environment: Environment) -> Guards:
    """Remove the pins, and move the guards to where Python, installers and conda do not find them.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.

    Raises:
        RefusedError: nothing is set up here.

    Example:
        guards = remove_guard(session, environment)
    """
    verb = "guard remove"
    with change_environment(session, environment, verb) as locked:
        store, (facts, receipt) = locked.store, _prepare_guarding(session, environment, locked.store)
        present = entries_present(Path(facts.interpreter.site_packages))
        pinned = receipt.request.pin or bool(read_pin(store.prefix))
        if not present and _find_package(facts) is None and not pinned:
            return guards_of(session, environment)
        with _begin_transaction(store, facts, verb) as transaction:
            _take_out(session, facts, transaction)
            transaction.commit(replace(receipt, request=replace(receipt.request, pin=False)))
    return guards_of(session, environment)


def find_replacement(session: Session, environment: Environment) -> str | None:
    """Describe what replaced our stack; return None if nothing is set up or our stack is still installed.

    Example:
        print(find_replacement(session, environment) or "ours is in place")
    """
    receipt = JournalStore(Path(environment.prefix)).read_receipt()
    if receipt is None:
        return None
    return _describe_replacement(session, recorded_facts(session, environment, receipt), receipt)


def accept(session: Session, environment: Environment) -> str | None:
    """Accept the Pillow that replaced our stack: remove guards, pins and the receipt.

    Returns:
        Doctor's sentence on what was accepted; None if there was nothing to accept, in which case nothing was changed.

    Raises:
        RefusedError: the environment is protected, or another run has locked it.
        EnvironmentDamagedError: a step failed, and could not be undone.

    Example:
        accepted = accept(session, environment)
    """
    verb = "guard accept"
    with change_environment(session, environment, verb) as locked:
        store, receipt = locked.store, locked.store.read_receipt()
        if receipt is None:
            return None
        facts = recorded_facts(session, environment, receipt)
        refuse_if_protected(facts)
        accepted = _describe_replacement(session, facts, receipt)
        if accepted is not None:
            # With this file in place, conda would still take packages from the channel inside the environment.
            registration = Move(kind=MoveKind.OUT, live=REGISTRATION, kept="aside/registration.yml")
            also = (registration,) if (store.prefix / REGISTRATION).is_file() else ()
            with _begin_transaction(store, facts, verb) as transaction:
                _take_out(session, facts, transaction, also)
                transaction.retire(make_stamp().at)
    return accepted


def _describe_replacement(session: Session, facts: Facts, receipt: Receipt) -> str | None:
    recipe = recipe_named(session, receipt.recipe)
    (finding,) = judge_facts(session, facts, receipt, recipe, ("swapped",)).findings
    return finding.message if finding.status is Status.ERROR else None


def _prepare_guarding(session: Session, environment: Environment, store: JournalStore) -> tuple[Facts, Receipt]:
    receipt = store.read_receipt()
    if receipt is None:
        raise RefusedError(
            f"{environment.prefix}: there is nothing to guard, as fastinstall has not set up this environment",
            hint=f"fastinstall setup --prefix {quote(environment.prefix)}",
        )
    facts = recorded_facts(session, environment, receipt)
    refuse_if_protected(facts)
    return facts, receipt


def _begin_transaction(store: JournalStore, facts: Facts, verb: str) -> Transaction:
    document = {"schema": "fastinstall.plan/1", "verb": verb}
    return begin(store, document, site_packages=facts.interpreter.site_packages, stamp=make_stamp())


def _find_package(facts: Facts) -> CondaPackage | None:
    """Find the guard package in conda's records, or return None if it is not installed."""
    return facts.conda.named(GUARD) if facts.conda is not None else None


def _bring_package(
    session: Session, guard: CondaPackage, facts: Facts, receipt: Receipt, transaction: Transaction
) -> None:
    """Link the guard package into a staging directory with the setup's engine, then move its files into place."""
    from fastinstall.setup.look import make_engine  # `guard status` needs no engine

    prefix, root = Path(facts.environment.prefix), transaction.stage / _STAGED
    tool = find_conda(session.variables, prefix) if receipt.engine is CondaInstaller.CONDA else None
    engine = make_engine(session, receipt.engine, tool, offline=True)
    engine.link([guard], root, prefix=prefix)
    transaction.perform(tuple(list_linked_moves(prefix, root, kept=f"stage/{_STAGED}")))
    add_revision(prefix, CondaChange(linked=(guard,)), "fastinstall guard install", session.now(), transaction)


def _take_out(session: Session, facts: Facts, transaction: Transaction, also: tuple[Move, ...] = ()) -> None:
    """Move guards and pins out of use; if a guard package is installed, also add its removal to conda's history.

    The files of the guard package are moved before its record.

    Args:
        session: variables, directories, clock and event listener of this run.
        facts: the facts about the environment.
        transaction: the open transaction that performs the moves.
        also: further moves, performed in the same step.
    """
    store = JournalStore(Path(facts.environment.prefix))
    package, moves = _find_package(facts), list(list_guard_removal_moves(store, Path(facts.interpreter.site_packages)))
    if package is not None:
        record = f"conda-meta/{package.record}"
        paths = (*claims(store.prefix / record), record)
        there = (path for path in paths if os.path.lexists(store.prefix / path))
        moves += (Move(kind=MoveKind.OUT, live=path, kept=f"aside/{_STAGED}/{path}") for path in there)
    transaction.perform((*moves, *also, *list_pin_removal_moves(store, transaction.stage)))
    if package is not None:
        change = CondaChange(unlinked=(package,))
        add_revision(store.prefix, change, "fastinstall guard remove", session.now(), transaction)


def pin_project(
    session: Session, environment: Environment, *, project: Path | None = None, wheels: Path | None = None
) -> ProjectChange:
    """Return the diff that pins our build in an environment's project, and copy the build to where the diff expects it.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the environment in which our stack is installed.
        project: the project's directory; None for the project that contains the environment.
        wheels: the directory to keep the build in; None for one in the user's data directory.

    Raises:
        UsageError: the environment belongs to no project.
        RefusedError: nothing is set up, the stack was replaced, or the project cannot be pinned.
        DocumentError: a file of the project cannot be read.

    Example:
        change = pin_project(session, environment, project=Path("app"))
        print(change.diff)
    """
    prefix, receipt = Path(environment.prefix), read_receipt(environment.prefix)
    if receipt is None:
        raise RefusedError(
            f"{prefix}: fastinstall has not set up this environment, so there is no build to pin",
            hint=f"fastinstall setup --prefix {quote(prefix)}",
        )
    core = recorded_facts(session, environment, receipt).stack.core
    if core is None or core.sha256 != receipt.core.sha256:
        raise RefusedError(f"{prefix}: not what fastinstall installed", hint=fix_command(prefix))
    found = project_of(prefix, project)
    if found is None:
        raise UsageError(
            f"{prefix} lies in no project of a tool that can be pinned",
            hint=f"name it: fastinstall guard pin --prefix {quote(prefix)} --project DIR",
        )
    wheel = Path(receipt.wheel)
    if not TOOLS[found.manager].takes_packages:
        wheel = find_installed_wheel_of(session, prefix, receipt, rebuilt_by="--upgrade")
    directory = wheels.absolute() if wheels is not None else session.directories.data / "wheels"
    refuse_homeless(directory)
    return make_pin(prefix, found, receipt, wheel, directory, session.variables)
