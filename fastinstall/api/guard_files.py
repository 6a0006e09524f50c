"""The start-up guard's files, moved into site-packages and out of it by a transaction."""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.guard.install import GUARD_ENTRIES, guard_target, stage_guard
from fastinstall.guard.status import entries_present
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Move, MoveKind, Receipt


def renew(store: Store, facts: Facts, receipt: Receipt, transaction: Transaction) -> None:
    """Write them for the stack of a receipt, compiled for the target's Python, and move them in.

    Raises:
        CommandError: the target's interpreter could not compile them; the caller undoes.
    """
    site_packages = Path(facts.interpreter.site_packages)
    target = guard_target(site_packages, receipt.core, receipt.stack_version)
    stage_guard(transaction.stage, target, Path(facts.interpreter.executable))
    transaction.perform(_moves_in(store, site_packages))


def moves_out(store: Store, site_packages: Path) -> Sequence[Move]:
    """The moves that take away what of them is there."""
    # The hooks go before the package that they name, so that no start of Python meets one without the other.
    return [
        Move(kind=MoveKind.OUT, live=store.relative(site_packages / name), kept=f"aside/{name}")
        for name in reversed(entries_present(site_packages))
    ]


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
