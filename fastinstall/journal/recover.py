"""Recover an interrupted transaction, roll back a finished setup, and forget old setups to free their disk space.

Setups are forgotten oldest first, and never one that is live. The others can still be undone: rollback leads from the
newest to the oldest, so each setup needs only itself and those after it. A forgotten transaction is removed as after
its undoing (`remove_transaction_directories`), so that a kill leaves it whole or leaves what the next command removes.
"""

from collections.abc import Sequence
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.errors import (
    DocumentError,
    EnvironmentDamagedError,
    FailedError,
    FastinstallError,
    LaterDocumentError,
    RefusedError,
    UsageError,
)
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.refused_writes import advice, reason
from fastinstall.core.values import immutable
from fastinstall.journal import store as directories
from fastinstall.journal.foresee import foresee
from fastinstall.journal.layout import KEPT, TRANSACTIONS, read_receipt
from fastinstall.journal.log import TransactionState, refuse_outside, refuse_ways_out
from fastinstall.journal.snapshot import find_loose_interruptions
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.journal.undo import UndoResult, UndoTerms, find_free_place, refusal, undo
from fastinstall.model.history import Unreadable
from fastinstall.model.interruption import UnfinishedRun
from fastinstall.model.receipt import Receipt


@immutable
class Recovered:
    """What had been interrupted, and is brought to its end now.

    Attributes:
        id: of the transaction.
        at: when it had begun.
        undone: what could not simply be put back.
        cut: what it had come to.
        verb: what had been called ("guard install"); empty if nobody wrote it down.
    """

    id: str
    at: str
    undone: UndoResult
    cut: UnfinishedRun = UnfinishedRun.SETUP
    verb: str = ""


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


def recover(
    store: JournalStore,
    *,
    force: bool = False,
    foreign_entries: tuple[str, ...] = (),
) -> Recovered | None:
    """Recover an interrupted transaction from its journal alone, or return None if none was interrupted.

    The caller holds the environment's lock. A transaction that did not finish is undone, a rollback is finished, and
    directories that were being made or removed go.

    Args:
        store: of the environment.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        foreign_entries: see `rollback`.

    Raises:
        RefusedError: somebody has put something where what was there has to return; nothing has changed.
        EnvironmentDamagedError: a step failed; says which.
        DocumentError: a journal cannot be read, and no other one is unfinished.
    """
    cleaned_up = _clean_up(store)
    info = next((each for each in store.readable() if each.state is not TransactionState.COMMITTED), None)
    if info is None:
        store.transactions()  # for what it raises
        return cleaned_up
    terms = UndoTerms(reason="interrupted", force=force, foreign_entries=foreign_entries)
    verb = info.title.verb
    undone = undo(store, info.id, terms)
    cut = UnfinishedRun.ROLLBACK if info.committed else UnfinishedRun.SETUP
    return Recovered(id=info.id, at=info.at, undone=undone, cut=cut, verb=verb)


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
        store: of the environment.
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
    steps = foresee(store, [info.id for info in chosen], foreign_entries)
    foreign = tuple(dict.fromkeys(path for step in steps for path in step.foreign))
    if foreign and not force:
        raise refusal(store, foreign, to)
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


def list_undoable_transactions(store: JournalStore) -> Sequence[TransactionInfo]:
    """The transactions that can be undone, newest first.

    Raises:
        RefusedError: one is unfinished.
    """
    infos = store.readable()
    unfinished = next((info for info in infos if info.state is not TransactionState.COMMITTED), None)
    if unfinished is not None:
        hint = recover_command(store.prefix)
        raise RefusedError(f"{store.prefix}: transaction {unfinished.id} was interrupted", hint=hint)
    return infos


def is_known(store: JournalStore, given: str) -> bool:
    """Whether there is a transaction whose identifier begins so."""
    return any(info.id.startswith(given) for info in store.readable())


def position(infos: Sequence[TransactionInfo], given: str, *, flag: str = "--to") -> int:
    """Where a transaction stands, by its identifier or by the beginning of it that no other has.

    Args:
        infos: the known ones.
        given: what was asked for.
        flag: for the hint.

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


def _make_halfway_error(store: JournalStore, undone: Sequence[str], error: FastinstallError) -> EnvironmentDamagedError:
    """Something has come about between two steps, since all of them were looked at."""
    return EnvironmentDamagedError(
        error.message,
        hint=error.hint or f"fastinstall rollback --list --prefix {quote(store.prefix)}",
        details=(*(f"also undone: {identifier}" for identifier in undone), *error.details),
    )


def _clean_up(store: JournalStore) -> Recovered | None:
    """What is left of making or removing directories goes; the newest of that, where there was any."""
    found = sorted(find_loose_interruptions(store.prefix), key=lambda each: each.id)
    try:
        directories.clean_up_transaction_directories(store)
    except OSError as error:
        message = f"{reason(error, store.prefix)}: left over from an interrupted run, and could not be removed"
        look = f"ls -ld {quote(error.filename or store.prefix)}"
        hint = f"remove the cause ({look}), then: {recover_command(store.prefix)}"
        raise EnvironmentDamagedError(message, hint=hint) from error
    if not found:
        return None
    last = found[-1]
    return Recovered(id=last.id, at=last.at, undone=UndoResult(), cut=last.cut, verb=last.verb)


def _choose_transactions(store: JournalStore, to: str | None) -> Sequence[TransactionInfo]:
    newest_first = list_undoable_transactions(store)
    chosen = newest_first[:1] if to is None else newest_first[: position(newest_first, to) + 1]
    for each in store.unreadable():  # what came later lies on top of what is to be undone
        if not chosen or not store.is_before(each.transaction, chosen[-1]):
            store.read(each.transaction)  # raises, since it cannot be read
    return chosen


_ALL = "transaction"


def list_forgettable_transactions(store: JournalStore, identifier: str | None) -> Sequence[TransactionInfo]:
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
        store: of the environment.
        identifier: as of `list_forgettable_transactions`.

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
            directories.remove_transaction_directories(store, begun)
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
