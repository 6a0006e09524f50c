"""Transactions whose journals cannot be read: found by name, and moved out of the way, deleting nothing."""

from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError, LaterDocumentError
from fastinstall.core.messages import quote
from fastinstall.core.refused_writes import reason
from fastinstall.journal.layout import KEPT, TRANSACTIONS
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.journal.store import JournalStore
from fastinstall.journal.undo import find_free_place
from fastinstall.model.history import Unreadable

_ALL = "transaction"


def unreadable_named(store: JournalStore, identifier: str) -> Unreadable | None:
    """Find the transaction of that name whose journal cannot be read, or return None."""
    return next((each for each in store.unreadable() if each.transaction == identifier), None)


def move_damaged_transaction_away(store: JournalStore, damaged: Unreadable) -> Path:
    """Move a transaction that cannot be read out of the way, so that it stops the others no longer; delete nothing.

    Returns:
        Where it lies now.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, and understands it.
        RefusedError: where it lies, or where it would go, is behind a link out of the environment.
        FailedError: it cannot be moved; nothing has changed.
    """
    if damaged.is_later:
        raise LaterDocumentError(damaged.file, "", "could not be put away", version=damaged.writer)
    refuse_outside(store.prefix, (TRANSACTIONS, f"{TRANSACTIONS}/{damaged.transaction}", KEPT))
    home = store.prefix / KEPT / damaged.transaction
    refuse_outside(store.prefix, (store.relative(home),))
    target = find_free_place(home / _ALL)
    try:
        home.mkdir(parents=True, exist_ok=True)
        files.rename(store.directory(damaged.transaction), target)
        for directory in (store.transactions_directory, home, home.parent, home.parent.parent):
            files.sync_directory(directory)
    except OSError as error:
        raise FailedError(
            f"{reason(error, home)}: could not be put away", hint=f"ls -ld {quote(store.root)}"
        ) from error
    return target
