"""List what can be undone, and forget it."""

from pathlib import Path

from fastinstall.apply.exclusive import hold_environment_lock
from fastinstall.apply.recovery import change_environment
from fastinstall.core import signals
from fastinstall.core.messages import format_bytes
from fastinstall.journal.forget import (
    forget,
    list_forgettable_transactions,
    move_damaged_transaction_away,
    unreadable_named,
)
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.model.facts import Environment
from fastinstall.model.history import PastTransaction, Phase, Transactions, Unreadable
from fastinstall.observe.session import Session


def history(environment: Environment) -> Transactions:
    """Return what can be undone, newest first; transactions with an unreadable journal come first.

    Example:
        for transaction in history(environment).transactions:
            print(transaction.id, transaction.at, transaction.stack)
    """
    store = JournalStore(Path(environment.prefix))
    damaged = (_make_damaged_transaction(store, each) for each in store.unreadable())
    return _sum_up((*damaged, *map(_make_past_transaction, store.readable())))


def list_forgettable_history(environment: Environment, identifier: str | None) -> Transactions:
    """Return what `forget_in` would delete, or the damaged transaction that it would move aside.

    Example:
        print(list_forgettable_history(environment, None).held_bytes)
    """
    store = JournalStore(Path(environment.prefix))
    damaged = unreadable_named(store, identifier) if identifier is not None else None
    if damaged is not None:
        return _sum_up((_make_damaged_transaction(store, damaged),))
    return _sum_up(tuple(map(_make_past_transaction, list_forgettable_transactions(store, identifier))))


def forget_in(session: Session, environment: Environment, identifier: str | None) -> tuple[str, ...]:
    """Make setups impossible to undo, and delete what was kept for that; the environment stays as it is.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find` returns it.
        identifier: of a transaction, or its beginning: it is deleted with all older ones. None keeps what the current
            setup needs to be undone. A transaction with an unreadable journal is moved to `kept/`, not deleted.

    Returns:
        What was done, in sentences.

    Raises:
        RefusedError: another program is working on the environment.
        UsageError: there is no such transaction, or there are several.

    Example:
        for line in forget_in(session, environment, None):
            print(line)
    """
    store = JournalStore(Path(environment.prefix))
    damaged = unreadable_named(store, identifier) if identifier is not None else None
    if damaged is not None:
        with hold_environment_lock(store.prefix):
            return (f"moved aside, nothing deleted: {move_damaged_transaction_away(store, damaged)}",)
    with change_environment(session, environment, "forgetting") as locked:
        freed = list_forgettable_history(environment, identifier).held_bytes
        with signals.defer_signals():  # all of them, or none
            gone = forget(store, identifier)
    told = (f"forgotten: {each}" for each in gone)
    return (*locked.sentences, *told, f"{format_bytes(freed)} freed" if gone else "nothing to forget")


def _sum_up(transactions: tuple[PastTransaction, ...]) -> Transactions:
    return Transactions(transactions=transactions, held_bytes=sum(each.held_bytes for each in transactions))


def _make_past_transaction(info: TransactionInfo) -> PastTransaction:
    title, held = info.title, info.held_bytes
    return PastTransaction(
        id=info.id,
        at=info.at,
        state=info.state,
        verb=title.verb,
        stack=title.stack,
        sequence=info.sequence,
        held=format_bytes(held),
        held_bytes=held,
    )


def _make_damaged_transaction(store: JournalStore, unreadable: Unreadable) -> PastTransaction:
    held = store.held_by(unreadable.transaction)
    return PastTransaction(
        id=unreadable.transaction,
        at="",
        state=Phase.DAMAGED,
        verb="",
        stack="",
        sequence=0,
        held=format_bytes(held),
        held_bytes=held,
        problem=unreadable.problem,
    )
