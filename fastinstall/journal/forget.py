"""Forget old setups, to free their disk space: the oldest first, and never one that is live.

The others can still be undone: rollback leads from the newest to the oldest, so each setup needs only itself and those
after it. A forgotten transaction is removed as after its undoing (`remove_transaction_directories`), so that a kill
leaves it whole or leaves what the next command removes.
"""

from collections.abc import Sequence

from fastinstall.core.errors import EnvironmentDamagedError, FailedError
from fastinstall.core.messages import recover_command
from fastinstall.core.refused_writes import advice, reason
from fastinstall.journal import transaction_directories
from fastinstall.journal.path_rules import refuse_ways_out
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.rollback import list_undoable_transactions, position
from fastinstall.journal.store import JournalStore, TransactionInfo


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
