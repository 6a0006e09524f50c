"""The guard package of a stack that is a conda package: brought back, and moved out, with a revision of the history.

The package itself stays in the channel inside the environment, so that it can come back without a network.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from fastinstall.actions.conda_swap import linked_moves
from fastinstall.api.previewing import engine_of
from fastinstall.api.session import Session
from fastinstall.installers.conda.history import history_revision
from fastinstall.journal.records import claims
from fastinstall.journal.revisions import HISTORY
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import CondaChange, CondaPackage, Engine
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.probes.conda_tool import find_conda
from fastinstall.rules.conda_stack import GUARD
from fastinstall.system import foreign

_RECORDS = "conda-meta"
_STAGED = "conda"


def installed_package(facts: Facts) -> CondaPackage | None:
    """Find the guard package in conda's records, or return None if it is not installed."""
    return facts.conda.named(GUARD) if facts.conda is not None else None


def missing_package(facts: Facts, receipt: Receipt) -> CondaPackage | None:
    """Return the setup's guard package if it should be installed and is not, else None."""
    guard = receipt.conda.guard if receipt.conda is not None else None
    return guard if guard is not None and installed_package(facts) is None else None


def bring_package(
    session: Session, guard: CondaPackage, facts: Facts, receipt: Receipt, transaction: Transaction
) -> None:
    """Have it linked beside the environment, and move it in.

    Raises:
        RefusedError: the engine that has set it up is not there any more.
        FailedError: the package is damaged; the caller undoes.
    """
    prefix = Path(facts.environment.prefix)
    tool = find_conda(session.variables, prefix) if receipt.engine is Engine.CONDA else None
    engine = engine_of(session, receipt.engine, tool, offline=True)
    root = transaction.stage / _STAGED
    engine.link([guard], root, prefix=prefix)
    transaction.perform(tuple(linked_moves(prefix, root, kept=f"stage/{_STAGED}")))
    _note(prefix, CondaChange(linked=(guard,)), session.now(), transaction, "install")


def package_moves(facts: Facts) -> Sequence[Move]:
    """The moves that take it out: its files, then its record; nothing where it is not there."""
    guard = installed_package(facts)
    if guard is None:
        return ()
    prefix = Path(facts.environment.prefix)
    record = f"{_RECORDS}/{guard.record}"
    there = (path for path in (*claims(prefix, guard.record), record) if os.path.lexists(prefix / path))
    return tuple(Move(kind=MoveKind.OUT, live=path, kept=f"aside/{_STAGED}/{path}") for path in there)


def note_removal(guard: CondaPackage, facts: Facts, now: datetime, transaction: Transaction) -> None:
    """Tell conda's history that it went, and that nobody asks for it any more."""
    _note(Path(facts.environment.prefix), CondaChange(unlinked=(guard,)), now, transaction, "remove")


def _note(prefix: Path, change: CondaChange, now: datetime, transaction: Transaction, verb: str) -> None:
    file = prefix / HISTORY
    existing = foreign.text_if_there(file)
    revised = history_revision(existing, now.astimezone(), f"fastinstall guard {verb}", change)
    transaction.add(HISTORY, revised.removeprefix(existing))
