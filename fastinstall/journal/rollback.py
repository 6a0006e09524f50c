"""Roll back finished setups, the newest first."""

from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.core.errors import (
    DocumentError,
    EnvironmentDamagedError,
    FailedError,
    FastinstallError,
    RefusedError,
)
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.journal.foresee import foresee_undo
from fastinstall.journal.selection import list_undoable_transactions, position
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.journal.undo import UndoResult, UndoTerms, make_foreign_refusal, undo
from fastinstall.model.receipt import Receipt


@immutable
class RolledBack:
    """Setups that were undone.

    Attributes:
        ids: of their transactions, in the order of undoing; empty: there was none.
        receipt: of the setup that holds now; None: there is none, or it cannot be read.
        kept: where foreign content lies now.
        lost: what stood there before and had been removed by somebody since, relative to the prefix.
    """

    ids: tuple[str, ...]
    receipt: Receipt | None
    kept: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()


def rollback(
    store: JournalStore,
    *,
    to: str | None = None,
    force: bool = False,
    foreign_entries: tuple[str, ...] = (),
) -> RolledBack:
    """Restore the state before a setup, to the byte: offline, newest setup first.

    The caller holds the environment's lock and has called `recover`. All of them are looked at before the first is
    undone. What a later one had put aside, and only comes back on the way, is moved on into `kept/<id>/`.

    Args:
        store: of the environment, whose lock is held.
        to: the setup whose "before" is wanted, by its transaction; None for the newest one.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        foreign_entries: entries, relative to the prefix, of what has replaced ours meanwhile and would
            contradict what comes back (the `.dist-info` of a Pillow that pip has put there).

    Raises:
        RefusedError: a transaction is unfinished, or what stands there is not what we put there (its
            content differs from what the journal recorded); nothing has changed.
        UsageError: there is no setup `to`.
        EnvironmentDamagedError: a step failed; says which.
        DocumentError: the journal of one of them, or of a later one, cannot be read.
    """
    chosen = _choose_transactions(store, to)
    steps = foresee_undo(store, [info.id for info in chosen], foreign_entries)
    foreign = tuple(dict.fromkeys(path for step in steps for path in step.foreign))
    if foreign and not force:
        raise make_foreign_refusal(store, foreign, to)
    results: list[UndoResult] = []
    for step in steps:
        terms = UndoTerms(reason="rollback", force=force, returned=step.returning, foreign_entries=step.foreign_entries)
        try:
            results.append(undo(store, step.id, terms))
        except (RefusedError, FailedError, DocumentError) as error:
            if not results:
                raise
            raise _make_halfway_error(store, [each.id for each in steps[: len(results)]], error) from error
    return RolledBack(
        ids=tuple(info.id for info in chosen),
        receipt=receipt_if_readable(store),
        kept=tuple(path for result in results for path in result.kept),
        lost=tuple(path for result in results for path in result.lost),
    )


def receipt_if_readable(store: JournalStore) -> Receipt | None:
    """Return the receipt of the current setup, or None if it is missing or unreadable."""
    try:
        return store.read_receipt()
    except DocumentError:
        return None


def _make_halfway_error(store: JournalStore, undone: Sequence[str], error: FastinstallError) -> EnvironmentDamagedError:
    """Describe what has come about between two steps, since all of them were looked at."""
    return EnvironmentDamagedError(
        error.message,
        hint=error.hint or f"fastinstall rollback --list --prefix {quote(store.prefix)}",
        details=(*(f"also undone: {identifier}" for identifier in undone), *error.details),
    )


def _choose_transactions(store: JournalStore, to: str | None) -> Sequence[TransactionInfo]:
    newest_first = list_undoable_transactions(store)
    chosen = newest_first[:1] if to is None else newest_first[: position(newest_first, to) + 1]
    for each in store.unreadable():  # what came later lies on top of what is to be undone
        if not chosen or not store.is_before(each.transaction, chosen[-1]):
            store.read(each.transaction)  # raises, since it cannot be read
    return chosen
