"""Roll back finished setups, newest first, and recover from an interrupted run."""

from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.core.errors import (
    DocumentError,
    EnvironmentDamagedError,
    FailedError,
    RefusedError,
    UsageError,
)
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.refused_writes import reason
from fastinstall.core.values import immutable
from fastinstall.journal import transaction_directories
from fastinstall.journal.foresee import foresee_undo
from fastinstall.journal.leftovers import find_leftovers, remove_strays
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.journal.undo import UndoResult, make_foreign_refusal, undo
from fastinstall.model.history import Interruption, Phase, UnfinishedRun
from fastinstall.model.receipt import Receipt


@immutable
class RolledBack:
    """The result of a rollback.

    Attributes:
        ids: identifiers of the transactions, in the order in which they were undone; empty if there was none.
        receipt: receipt of the setup that is current after the rollback; None if it is missing or unreadable.
        kept: new paths of foreign content that was moved away.
        lost: paths, relative to the prefix, of previous content that was removed since and cannot be restored.
    """

    ids: tuple[str, ...]
    receipt: Receipt | None
    kept: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()


@immutable
class Recovered:
    """An interrupted run that has been recovered.

    Attributes:
        interruption: the interrupted run.
        undone: the content that could not be restored in place.
    """

    interruption: Interruption
    undone: UndoResult


def rollback(
    store: JournalStore, *, to: str | None = None, force: bool = False, foreign_entries: tuple[str, ...] = ()
) -> RolledBack:
    """Undo the newest setup, or all setups from the newest to `to`: offline and to the byte.

    The caller holds the environment's lock and has called `recover`. The undo of all setups is simulated before the
    first one begins. Undoing a later setup may restore foreign content that prevents the undo of an older one; that
    content is moved to `kept/<id>/`.

    Args:
        store: the store of the environment, whose lock the caller holds.
        to: identifier of the oldest transaction to undo, or the start of that identifier; None for the newest alone.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        foreign_entries: metadata paths, relative to the prefix, of another stack that would contradict the restored
            stack, such as the `.dist-info` of a Pillow that pip has installed since.

    Raises:
        RefusedError: a transaction is unfinished, or files differ from those that the journal recorded; nothing has
            changed.
        UsageError: there is no setup `to`.
        EnvironmentDamagedError: a step failed; the message says which.
        DocumentError: the journal of one of these setups, or of a later transaction, cannot be read.
    """
    chosen = _choose_transactions(store, to)
    steps = foresee_undo(store, [info.id for info in chosen], foreign_entries)
    foreign = tuple(dict.fromkeys(path for step in steps for path in step.foreign))
    if foreign and not force:
        raise make_foreign_refusal(store, foreign, to)
    results: list[UndoResult] = []
    for step in steps:
        returned, further = step.returning, step.foreign_entries
        try:
            results.append(undo(store, step.id, "rollback", force=force, returned=returned, foreign_entries=further))
        except (RefusedError, FailedError, DocumentError) as error:
            if not results:
                raise
            raise EnvironmentDamagedError(  # some files changed after the simulation
                error.message,
                hint=error.hint or f"fastinstall rollback --list --prefix {quote(store.prefix)}",
                details=(*(f"also undone: {each.id}" for each in steps[: len(results)]), *error.details),
            ) from error
    return RolledBack(
        ids=tuple(info.id for info in chosen),
        receipt=receipt_if_readable(store),
        kept=tuple(path for result in results for path in result.kept),
        lost=tuple(path for result in results for path in result.lost),
    )


def recover(store: JournalStore, *, force: bool = False, foreign_entries: tuple[str, ...] = ()) -> Recovered | None:
    """Recover an interrupted transaction from its journal alone, or return None if nothing was interrupted.

    An interrupted setup is undone, and an interrupted rollback is completed. Transaction directories that were still
    being made, or already being removed, are removed.

    Args:
        store: the store of the environment, whose lock the caller holds.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        foreign_entries: metadata paths of another stack, relative to the prefix; see `rollback`.

    Raises:
        RefusedError: foreign content is at a path that has to be restored; nothing has changed.
        EnvironmentDamagedError: a step failed; the message says which.
        DocumentError: no transaction is unfinished, but a journal cannot be read.
    """
    cleaned_up = _clean_up(store)
    info = _find_unfinished(store.readable())
    if info is None:
        store.transactions()  # raises if a journal cannot be read
        return cleaned_up
    kind = UnfinishedRun.ROLLBACK if info.committed else UnfinishedRun.SETUP
    file = store.journal(info.id).file
    interruption = Interruption(kind=kind, verb=info.title.verb, at=info.at, file=file, id=info.id)
    undone = undo(store, info.id, "interrupted", force=force, foreign_entries=foreign_entries)
    return Recovered(interruption=interruption, undone=undone)


def receipt_if_readable(store: JournalStore) -> Receipt | None:
    """Return the receipt of the current setup, or None if it is missing or unreadable."""
    try:
        return store.read_receipt()
    except DocumentError:
        return None


def list_undoable_transactions(store: JournalStore) -> Sequence[TransactionInfo]:
    """Return the transactions that can be undone, newest first.

    Raises:
        RefusedError: a transaction is unfinished.
    """
    infos = store.readable()
    unfinished = _find_unfinished(infos)
    if unfinished is not None:
        hint = recover_command(store.prefix)
        raise RefusedError(f"{store.prefix}: transaction {unfinished.id} was interrupted", hint=hint)
    return infos


def is_transaction(store: JournalStore, given: str) -> bool:
    """Return whether there is a transaction whose identifier begins with `given`."""
    return any(info.id.startswith(given) for info in store.readable())


def position(infos: Sequence[TransactionInfo], given: str, *, flag: str = "--to") -> int:
    """Return the index of the transaction whose identifier is `given`, or else of the only one that begins with it.

    Args:
        infos: the transactions to choose from, newest first.
        given: an identifier, or the start of one.
        flag: the command-line option, for the hint's example.

    Raises:
        UsageError: no transaction matches, or several do; the message lists the candidates.
    """
    known = [info.id for info in infos]
    meant = [each for each in known if each == given] or [each for each in known if given and each.startswith(given)]
    if len(meant) == 1:
        return known.index(meant[0])
    listed = ", ".join(meant or known) or "none"
    problem = f"several setups begin with this ID: {listed}" if meant else f"no such setup; known: {listed}"
    example = f"; e.g. {flag} {known[0]}" if known else ""
    raise UsageError(f"{given}: {problem}", hint=f"see them: fastinstall rollback --list{example}")


def _choose_transactions(store: JournalStore, to: str | None) -> Sequence[TransactionInfo]:
    newest_first = list_undoable_transactions(store)
    chosen = newest_first[:1] if to is None else newest_first[: position(newest_first, to) + 1]
    for each in store.unreadable():  # if not older than `chosen`, it would have to be undone first
        if not chosen or not store.is_before(each.transaction, chosen[-1]):
            store.read(each.transaction)  # raises the error, with its hint
    return chosen


def _find_unfinished(infos: Sequence[TransactionInfo]) -> TransactionInfo | None:
    return next((info for info in infos if info.state is not Phase.COMMITTED), None)


def _clean_up(store: JournalStore) -> Recovered | None:
    """Remove strays and partly made or removed transaction directories.

    Return the interruption with the latest identifier, or None if there were no leftovers.
    """
    found = max(find_leftovers(store.prefix), key=lambda each: each.id, default=None)
    try:
        transaction_directories.clean_up_transaction_directories(store)
        remove_strays(store.prefix)
    except OSError as error:
        message = f"{reason(error, store.prefix)}: left over from an interrupted run, and could not be removed"
        look = f"ls -ld {quote(error.filename or store.prefix)}"
        hint = f"remove the cause ({look}), then: {recover_command(store.prefix)}"
        raise EnvironmentDamagedError(message, hint=hint) from error
    return Recovered(interruption=found, undone=UndoResult()) if found is not None else None
