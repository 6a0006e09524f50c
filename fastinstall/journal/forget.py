"""Giving up the way back behind old setups, to have their disk space: the oldest first, and nothing that is live.

What remains can still be undone: the way back leads from the newest to the oldest, so each setup needs only itself and
those after it. A transaction goes as after its undoing (`footing.lift`), so that a kill leaves it there whole, or
leaves what the next command removes.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from fastinstall.errors import DamagedError, FailedError, LaterDocumentError
from fastinstall.journal import footing
from fastinstall.journal.bounds import refuse_outside, refuse_ways_out
from fastinstall.journal.layout import KEPT, TRANSACTIONS
from fastinstall.journal.receipts import read_receipt
from fastinstall.journal.recover import position, undoable
from fastinstall.journal.store import Store, TransactionInfo
from fastinstall.model.history import Unreadable
from fastinstall.rules.messages import quote
from fastinstall.system import files
from fastinstall.system.trouble import reason

_ALL = "transaction"


def forgettable(store: Store, identifier: str | None) -> Sequence[TransactionInfo]:
    """What `forget` would give up, newest first.

    Args:
        store: of the environment.
        identifier: the newest that shall go, or the beginning of its name; None for all but the way back before the
            setup that holds, which is its transaction and those of what was done to its guard since.

    Raises:
        RefusedError: a transaction is unfinished.
        UsageError: there is no such setup.
        DocumentError: nothing was named, and the receipt cannot be read.
    """
    newest_first = undoable(store)
    if identifier is not None:
        return newest_first[position(newest_first, identifier, flag="--forget") :]
    receipt = read_receipt(store.prefix)
    known = [info.id for info in newest_first]
    kept = known.index(receipt.id) + 1 if receipt is not None and receipt.id in known else 1
    return newest_first[kept:]


def forget(store: Store, identifier: str | None) -> tuple[str, ...]:
    """Give up the way back behind a setup: it and all older ones can no longer be rolled back.

    The caller holds the environment's lock. What they moved aside is deleted; the environment and its receipt stay as
    they are.

    Args:
        store: of the environment.
        identifier: as of `forgettable`.

    Returns:
        The transactions forgotten.

    Raises:
        RefusedError: a transaction is unfinished, or a link leads out of the environment; nothing has changed.
        UsageError: there is no such setup.
        DamagedError: one could not be removed whole; the next command goes on with it.
    """
    older = forgettable(store, identifier)
    logs = [store.journal(info.id).read() for info in reversed(older)]
    for log in logs:
        refuse_ways_out(store.prefix, log)
    for begun in (log.begun for log in logs if log.begun is not None):
        try:
            footing.lift(store, begun)
        except OSError as error:
            raise _stuck(store, error) from error
    return tuple(info.id for info in older)


def unreadable_named(store: Store, identifier: str) -> Unreadable | None:
    """Find the transaction of that name whose journal cannot be read, or return None."""
    return next((each for each in store.unreadable() if each.transaction == identifier), None)


def put_away(store: Store, damaged: Unreadable) -> Path:
    """Move a transaction that cannot be read out of the way, so that it stops the others no longer; delete nothing.

    Returns:
        Where it lies now.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, and understands it.
        RefusedError: where it lies, or where it would go, is behind a link out of the environment.
        FailedError: it cannot be moved; nothing has changed.
    """
    if damaged.is_later:
        raise LaterDocumentError(damaged.file, "", "not put away", version=damaged.writer)
    refuse_outside(store.prefix, (TRANSACTIONS, f"{TRANSACTIONS}/{damaged.transaction}", KEPT))
    home = store.prefix / KEPT / damaged.transaction
    refuse_outside(store.prefix, (store.relative(home),))
    target = next(path for path in (home / _ALL, *(home / f"{_ALL}.{n}" for n in range(2, 99))) if not _there(path))
    try:
        home.mkdir(parents=True, exist_ok=True)
        files.rename(store.directory(damaged.transaction), target)
        for directory in (store.transactions_directory, home, home.parent, home.parent.parent):
            files.sync_directory(directory)
    except OSError as error:
        raise FailedError(f"{reason(error, home)}: not put away", hint=f"ls -ld {quote(store.root)}") from error
    return target


def _there(path: Path) -> bool:
    return os.path.lexists(path)


def _stuck(store: Store, error: OSError) -> DamagedError:
    return DamagedError(
        f"{reason(error, store.prefix)}: what was given up could not be removed whole; the environment itself is whole",
        hint=f"remove the cause, then: fastinstall doctor --fix --prefix {quote(store.prefix)}",
    )
