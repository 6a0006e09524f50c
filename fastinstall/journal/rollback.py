"""Roll back finished setups, the newest first, and bring an interrupted run to its end."""

from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.core.errors import (
    DocumentError,
    EnvironmentDamagedError,
    FailedError,
    FastinstallError,
    RefusedError,
    UsageError,
)
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.refused_writes import reason
from fastinstall.core.values import immutable
from fastinstall.journal import transaction_directories
from fastinstall.journal.foresee import foresee_undo
from fastinstall.journal.snapshot import find_loose_interruptions, find_stray_interruptions
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.journal.strays import remove_strays
from fastinstall.journal.undo import UndoResult, UndoTerms, make_foreign_refusal, undo
from fastinstall.model.history import Interruption, Phase, UnfinishedRun
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


@immutable
class Recovered:
    """An interrupted run that has been recovered.

    Attributes:
        interruption: how far the run had come.
        undone: content that could not simply be put back.
    """

    interruption: Interruption
    undone: UndoResult


def rollback(
    store: JournalStore, *, to: str | None = None, force: bool = False, foreign_entries: tuple[str, ...] = ()
) -> RolledBack:
    """Restore the state before a setup, to the byte: offline, newest setup first.

    The caller holds the environment's lock and has called `recover`. All setups are simulated before the first is
    undone. Content that a later setup had moved aside, and that would return only in between, moves to `kept/<id>/`.

    Args:
        store: of the environment, whose lock is held.
        to: the transaction of the oldest setup to undo; None for the newest one alone.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        foreign_entries: entries, relative to the prefix, of a stack that replaced the setup's and would contradict the
            restored one (the `.dist-info` of a Pillow that pip installed).

    Raises:
        RefusedError: a transaction is unfinished, or files differ from those that the journal recorded; nothing has
            changed.
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


def recover(store: JournalStore, *, force: bool = False, foreign_entries: tuple[str, ...] = ()) -> Recovered | None:
    """Recover an interrupted transaction from its journal alone, or return None if none was interrupted.

    The caller holds the environment's lock. A transaction that did not finish is undone, a rollback is finished, and
    directories that were being made or removed go.

    Args:
        store: of the environment, whose lock is held.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        foreign_entries: entries of what has replaced ours meanwhile, relative to the prefix; see `rollback`.

    Raises:
        RefusedError: somebody has put something where what was there has to return; nothing has changed.
        EnvironmentDamagedError: a step failed; says which.
        DocumentError: a journal cannot be read, and no other one is unfinished.
    """
    cleaned_up = _clean_up(store)
    info = _find_unfinished(store.readable())
    if info is None:
        store.transactions()  # for what it raises
        return cleaned_up
    terms = UndoTerms(reason="interrupted", force=force, foreign_entries=foreign_entries)
    kind = UnfinishedRun.ROLLBACK if info.committed else UnfinishedRun.SETUP
    file = store.journal(info.id).file
    interruption = Interruption(kind=kind, verb=info.title.verb, at=info.at, file=file, id=info.id)
    return Recovered(interruption=interruption, undone=undo(store, info.id, terms))


def receipt_if_readable(store: JournalStore) -> Receipt | None:
    """Return the receipt of the current setup, or None if it is missing or unreadable."""
    try:
        return store.read_receipt()
    except DocumentError:
        return None


def list_undoable_transactions(store: JournalStore) -> Sequence[TransactionInfo]:
    """Return the transactions that can be undone, newest first.

    Raises:
        RefusedError: one is unfinished.
    """
    infos = store.readable()
    unfinished = _find_unfinished(infos)
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


def _find_unfinished(infos: Sequence[TransactionInfo]) -> TransactionInfo | None:
    return next((info for info in infos if info.state is not Phase.COMMITTED), None)


def _clean_up(store: JournalStore) -> Recovered | None:
    """Clear away what is left of making or removing directories; returns the newest of that."""
    leftovers = (*find_stray_interruptions(store.prefix), *find_loose_interruptions(store.prefix))
    found = sorted(leftovers, key=lambda each: each.id)
    try:
        transaction_directories.clean_up_transaction_directories(store)
        remove_strays(store.prefix)
    except OSError as error:
        message = f"{reason(error, store.prefix)}: left over from an interrupted run, and could not be removed"
        look = f"ls -ld {quote(error.filename or store.prefix)}"
        hint = f"remove the cause ({look}), then: {recover_command(store.prefix)}"
        raise EnvironmentDamagedError(message, hint=hint) from error
    return Recovered(interruption=found[-1], undone=UndoResult()) if found else None
