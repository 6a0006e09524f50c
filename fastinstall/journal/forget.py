"""Forget old transactions, the oldest first, to free their disk space.

The remaining transactions can still be undone, since rollback goes from the newest to the oldest. If a kill leaves a
transaction partly removed, the next command removes the rest (`remove_transaction_directories`).

A transaction with an unreadable journal blocks others. `move_damaged_transaction_away` moves it and deletes nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.core import files, rights
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, LaterDocumentError
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.refused_writes import advice, reason
from fastinstall.journal import transaction_directories
from fastinstall.journal.layout import KEPT, TRANSACTIONS
from fastinstall.journal.path_rules import refuse_outside, refuse_ways_out
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.rollback import list_undoable_transactions, position
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.journal.undo import find_free_place
from fastinstall.model.history import Unreadable


def list_forgettable_transactions(store: JournalStore, identifier: str | None) -> Sequence[TransactionInfo]:
    """Return the transactions that `forget` would remove, newest first.

    Args:
        store: the environment's store.
        identifier: identifier of the newest transaction to forget, or the start of that identifier. None to forget all
            transactions before the current setup. The transactions of this setup and all later ones, such as a change
            of the guard, are then kept.

    Raises:
        RefusedError: a transaction is unfinished.
        UsageError: there is no such transaction.
        DocumentError: `identifier` is None, and the receipt cannot be read.
    """
    newest_first = list_undoable_transactions(store)
    if identifier is not None:
        return newest_first[position(newest_first, identifier, flag="--forget") :]
    receipt = read_receipt(store.prefix)
    known = [info.id for info in newest_first]
    kept = known.index(receipt.id) + 1 if receipt is not None and receipt.id in known else 1
    return newest_first[kept:]


def forget(store: JournalStore, identifier: str | None) -> tuple[str, ...]:
    """Forget a transaction and all older ones, which can then no longer be rolled back.

    The files that these transactions had moved aside are deleted; the environment and its receipt do not change.

    Args:
        store: the store of the environment, whose lock the caller holds.
        identifier: the newest transaction to forget; see `list_forgettable_transactions`.

    Returns:
        Identifiers of the forgotten transactions, newest first.

    Raises:
        RefusedError: a transaction is unfinished, or a link leads out of the environment; nothing has changed.
        UsageError: there is no such transaction.
        FailedError: the oldest transaction could not be removed; nothing has changed.
        EnvironmentDamagedError: only some of the transactions were removed, or one only partly; the next command
            completes the removal.
    """
    older = list_forgettable_transactions(store, identifier)
    logs = [store.journal(info.id).read() for info in reversed(older)]
    for log in logs:
        refuse_ways_out(store.prefix, log.entries)
    gone: list[str] = []
    for begun in (log.begun for log in logs if log.begun is not None):
        try:
            transaction_directories.remove_transaction_directories(store, begun)
        except OSError as error:
            why = reason(error, store.prefix)
            if not gone and store.journal(begun.id).file.exists():
                message = f"{why}: {begun.id} could not be forgotten; nothing was changed"
                raise FailedError(message, hint=advice(error, store.prefix)) from error
            raise EnvironmentDamagedError(
                f"{why}: leftovers could not be removed; the environment itself is intact",
                hint=f"remove the cause, then: {recover_command(store.prefix)}",
                details=tuple(f"forgotten before that: {each}" for each in gone),
            ) from error
        gone.append(begun.id)
    return tuple(info.id for info in older)


def unreadable_named(store: JournalStore, identifier: str) -> Unreadable | None:
    """Return the transaction with this identifier if its journal cannot be read; otherwise None."""
    return next((each for each in store.unreadable() if each.transaction == identifier), None)


def move_damaged_transaction_away(store: JournalStore, damaged: Unreadable) -> Path:
    """Move an unreadable transaction's directory to `kept/`, and return its new path.

    Raises:
        LaterDocumentError: a later fastinstall wrote the transaction, and that version can read it.
        RefusedError: a link leads the transaction's present or new directory out of the environment.
        FailedError: the directory cannot be moved; nothing has changed.
    """
    if damaged.is_later:
        raise LaterDocumentError(damaged.file, "", "could not be put away", version=damaged.writer)
    refuse_outside(store.prefix, (TRANSACTIONS, f"{TRANSACTIONS}/{damaged.transaction}", KEPT))
    home = store.prefix / KEPT / damaged.transaction
    refuse_outside(store.prefix, (store.relative(home),))
    target = find_free_place(home / "transaction")
    try:
        rights.make_given_directories(home)
        files.rename(store.directory(damaged.transaction), target)
        files.sync_directories((store.transactions_directory, home, home.parent, home.parent.parent))
    except OSError as error:
        message = f"{reason(error, home)}: could not be put away"
        raise FailedError(message, hint=f"ls -ld {quote(store.root)}") from error
    return target
