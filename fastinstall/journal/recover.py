"""Bring an interrupted transaction to its end, by its journal alone."""

from fastinstall.core.errors import EnvironmentDamagedError
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.refused_writes import reason
from fastinstall.core.values import immutable
from fastinstall.journal import transaction_directories
from fastinstall.journal.snapshot import find_loose_interruptions
from fastinstall.journal.store import JournalStore
from fastinstall.journal.undo import UndoResult, UndoTerms, undo
from fastinstall.model.history import Interruption, Phase, UnfinishedRun


@immutable
class Recovered:
    """What had been interrupted, and is brought to its end now.

    Attributes:
        interruption: what it had come to.
        undone: what could not simply be put back.
    """

    interruption: Interruption
    undone: UndoResult


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
    info = next((each for each in store.readable() if each.state is not Phase.COMMITTED), None)
    if info is None:
        store.transactions()  # for what it raises
        return cleaned_up
    terms = UndoTerms(reason="interrupted", force=force, foreign_entries=foreign_entries)
    cut = UnfinishedRun.ROLLBACK if info.committed else UnfinishedRun.SETUP
    file = store.journal(info.id).file
    interruption = Interruption(cut=cut, verb=info.title.verb, at=info.at, file=file, id=info.id)
    return Recovered(interruption=interruption, undone=undo(store, info.id, terms))


def _clean_up(store: JournalStore) -> Recovered | None:
    """Clear away what is left of making or removing directories; returns the newest of that."""
    found = sorted(find_loose_interruptions(store.prefix), key=lambda each: each.id)
    try:
        transaction_directories.clean_up_transaction_directories(store)
    except OSError as error:
        message = f"{reason(error, store.prefix)}: left over from an interrupted run, and could not be removed"
        look = f"ls -ld {quote(error.filename or store.prefix)}"
        hint = f"remove the cause ({look}), then: {recover_command(store.prefix)}"
        raise EnvironmentDamagedError(message, hint=hint) from error
    return Recovered(interruption=found[-1], undone=UndoResult()) if found else None
