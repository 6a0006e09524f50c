"""Which transactions a command means: those that can be undone, and the one whose name begins as given."""

from collections.abc import Sequence

from fastinstall.core.errors import (
    RefusedError,
    UsageError,
)
from fastinstall.core.messages import recover_command
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.model.history import Phase


def list_undoable_transactions(store: JournalStore) -> Sequence[TransactionInfo]:
    """Return the transactions that can be undone, newest first.

    Raises:
        RefusedError: one is unfinished.
    """
    infos = store.readable()
    unfinished = next((info for info in infos if info.state is not Phase.COMMITTED), None)
    if unfinished is not None:
        hint = recover_command(store.prefix)
        raise RefusedError(f"{store.prefix}: transaction {unfinished.id} was interrupted", hint=hint)
    return infos


def is_transaction(store: JournalStore, given: str) -> bool:
    """Return whether there is a transaction whose identifier begins so."""
    return any(info.id.startswith(given) for info in store.readable())


def position(infos: Sequence[TransactionInfo], given: str, *, flag: str = "--to") -> int:
    """Find a transaction by its identifier or by the beginning of it that no other has.

    Args:
        infos: the transactions to choose from, newest first.
        given: what was asked for.
        flag: the option that asked, for the hint's example.

    Raises:
        UsageError: there is none, or there are several; names those that are known.
    """
    known = [info.id for info in infos]
    meant = [each for each in known if each == given] or [each for each in known if given and each.startswith(given)]
    if len(meant) == 1:
        return known.index(meant[0])
    listed = ", ".join(meant or known) or "none"
    problem = f"several setups begin with this ID: {listed}" if meant else f"no such setup; known: {listed}"
    example = f"; e.g. {flag} {known[0]}" if known else ""
    raise UsageError(f"{given}: {problem}", hint=f"see them: fastinstall rollback --list{example}")
