"""Delete old setups to free their disk space: the oldest first, and never the current one.

The others can still be undone: rollback leads from the newest to the oldest, so each setup needs only itself and those
after it. A forgotten transaction is removed as after its undoing (`remove_transaction_directories`), so that a kill
leaves it whole or leaves what the next command removes.

A transaction whose journal cannot be read would stop all others: it is moved out of the way, and nothing is deleted.
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
    """List what `forget` would give up, newest first.

    Args:
        store: of the environment whose transactions are meant.
        identifier: the newest that shall go, or the beginning of its name; None for all but the way back before the
            setup that holds, which is its transaction and those of what was done to its guard since.

    Raises:
        RefusedError: a transaction is unfinished.
        UsageError: there is no such setup.
        DocumentError: nothing was named, and the receipt cannot be read.
    """
    newest_first = list_undoable_transactions(store)
    if identifier is not None:
        return newest_first[position(newest_first, identifier, flag="--forget") :]
    receipt = read_receipt(store.prefix)
    known = [info.id for info in newest_first]
    kept = known.index(receipt.id) + 1 if receipt is not None and receipt.id in known else 1
    return newest_first[kept:]


def forget(store: JournalStore, identifier: str | None) -> tuple[str, ...]:
    """Give up the way back behind a setup: it and all older ones can no longer be rolled back.

    The caller holds the environment's lock. What they moved aside is deleted; the environment and its receipt stay as
    they are.

    Args:
        store: of the environment, whose lock is held.
        identifier: the newest setup that shall go, or the beginning of its name; None for all but the last.

    Returns:
        The transactions forgotten.

    Raises:
        RefusedError: a transaction is unfinished, or a link leads out of the environment; nothing has changed.
        UsageError: there is no such setup.
        FailedError: the first could not be given up; nothing has changed.
        EnvironmentDamagedError: one could not be removed whole; the next command goes on with it.
    """
    older = list_forgettable_transactions(store, identifier)
    logs = [store.journal(info.id).read() for info in reversed(older)]
    for log in logs:
        refuse_ways_out(store.prefix, log)
    gone: list[str] = []
    for begun in (log.begun for log in logs if log.begun is not None):
        try:
            transaction_directories.remove_transaction_directories(store, begun)
        except OSError as error:
            raise _make_forgetting_error(store, error, begun.id, gone) from error
        gone.append(begun.id)
    return tuple(info.id for info in older)


def unreadable_named(store: JournalStore, identifier: str) -> Unreadable | None:
    """Find the transaction of that name whose journal cannot be read, or return None."""
    return next((each for each in store.unreadable() if each.transaction == identifier), None)


def move_damaged_transaction_away(store: JournalStore, damaged: Unreadable) -> Path:
    """Move a transaction that cannot be read out of the way, so that it stops no other; return where it lies now.

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
    target = find_free_place(home / "transaction")
    try:
        rights.make_given_directories(home)
        files.rename(store.directory(damaged.transaction), target)
        for directory in (store.transactions_directory, home, home.parent, home.parent.parent):
            files.sync_directory(directory)
    except OSError as error:
        raise FailedError(
            f"{reason(error, home)}: could not be put away", hint=f"ls -ld {quote(store.root)}"
        ) from error
    return target


def _make_forgetting_error(
    store: JournalStore, error: OSError, identifier: str, gone: Sequence[str]
) -> EnvironmentDamagedError | FailedError:
    why = reason(error, store.prefix)
    if not gone and store.journal(identifier).file.exists():
        return FailedError(
            f"{why}: {identifier} could not be forgotten; nothing was changed", hint=advice(error, store.prefix)
        )
    return EnvironmentDamagedError(
        f"{why}: leftovers could not be removed; the environment itself is intact",
        hint=f"remove the cause, then: {recover_command(store.prefix)}",
        details=tuple(f"forgotten before that: {each}" for each in gone),
    )
