"""What the next command does about an interrupted one, and the way back from a finished setup."""

from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.errors import DamagedError, RefusedError, UsageError
from fastinstall.journal import footing
from fastinstall.journal.store import Store, TransactionInfo
from fastinstall.journal.undo import Terms, Undone, undo
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Receipt


@immutable
class Recovered:
    """A transaction that had been interrupted, and is undone now.

    Attributes:
        id: of the transaction.
        at: when it had begun.
        was: what had been interrupted: "setup" or "rollback".
        undone: what could not simply be put back.
    """

    id: str
    at: str
    was: str
    undone: Undone


@immutable
class RolledBack:
    """Setups that were undone.

    Attributes:
        ids: of their transactions, in the order of undoing; empty: there was none.
        receipt: of the setup that holds now; None: the environment is as before the first one.
        kept: where foreign content lies now.
        lost: what stood there before and had been removed by somebody since, relative to the prefix.
    """

    ids: tuple[str, ...]
    receipt: Receipt | None
    kept: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()


def recover(store: Store, *, force: bool = False, intruders: tuple[str, ...] = ()) -> Recovered | None:
    """Undo what was interrupted, from the journal alone; None where nothing was.

    The caller holds the environment's lock. A rollback that was interrupted is brought to its end.

    Args:
        store: of the environment.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        intruders: see `rollback`.

    Raises:
        RefusedError: somebody has put something where what was there has to return; nothing has changed.
        DamagedError: a step failed; says which.
        DocumentError: a journal is malformed.
    """
    _sweep(store)
    info = store.unfinished()
    if info is None:
        return None
    terms = Terms(reason="interrupted", force=force, intruders=intruders)
    undone = undo(store, info.id, terms)
    return Recovered(id=info.id, at=info.at, was="rollback" if info.committed else "setup", undone=undone)


def rollback(
    store: Store, *, to: str | None = None, force: bool = False, intruders: tuple[str, ...] = ()
) -> RolledBack:
    """Restore the state before a setup, to the byte: offline, newest setup first.

    The caller holds the environment's lock and has called `recover`.

    Args:
        store: of the environment.
        to: the setup whose "before" is wanted, by its transaction; None for the newest one.
        force: move foreign content into `share/fastinstall/kept/<id>/` instead of refusing.
        intruders: entries, relative to the prefix, of what has replaced ours meanwhile and would
            contradict what comes back (the `.dist-info` of a Pillow that pip has put there).

    Raises:
        RefusedError: a transaction is unfinished, or what stands there is not what we put there (its
            content differs from what the journal recorded); nothing of that setup has changed.
        UsageError: there is no setup `to`.
        DamagedError: a step failed; says which.
    """
    chosen = _chosen(store, to)
    terms = Terms(reason="rollback", force=force, intruders=intruders)
    results = [undo(store, info.id, terms) for info in chosen]
    return RolledBack(
        ids=tuple(info.id for info in chosen),
        receipt=store.read_receipt(),
        kept=tuple(path for result in results for path in result.kept),
        lost=tuple(path for result in results for path in result.lost),
    )


def forget(store: Store, identifier: str) -> tuple[str, ...]:
    """Give up the way back behind a setup: it and all older ones can no longer be rolled back.

    What they moved aside is deleted; the environment and its receipt stay as they are.

    Returns:
        The transactions forgotten.

    Raises:
        RefusedError: a transaction is unfinished.
        UsageError: there is no such setup.
    """
    newest_first = _committed(store)
    older = newest_first[_position(newest_first, identifier) :]
    for info in reversed(older):
        begun = store.journal(info.id).read().begun
        if begun is not None:
            footing.lift(store, begun)
    return tuple(info.id for info in older)


def _sweep(store: Store) -> None:
    try:
        footing.sweep(store)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}: left over from an interrupted run, and cannot be removed"
        raise DamagedError(message, hint=f"rm -r {error.filename}") from error


def _chosen(store: Store, to: str | None) -> Sequence[TransactionInfo]:
    newest_first = _committed(store)
    if to is None:
        return newest_first[:1]
    return newest_first[: _position(newest_first, to) + 1]


def _committed(store: Store) -> Sequence[TransactionInfo]:
    unfinished = store.unfinished()
    if unfinished is not None:
        hint = f"fastinstall rollback --prefix {store.prefix}"
        raise RefusedError(f"{store.prefix}: transaction {unfinished.id} was interrupted", hint=hint)
    return store.transactions()


def _position(infos: Sequence[TransactionInfo], identifier: str) -> int:
    known = [info.id for info in infos]
    if identifier not in known:
        listed = ", ".join(known) or "none"
        raise UsageError(f"{identifier}: no such setup; known: {listed}", hint="fastinstall rollback --list")
    return known.index(identifier)
