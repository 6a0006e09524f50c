"""List the transactions that can be undone, and forget old ones: delete the files that were kept to undo them."""

from pathlib import Path

from fastinstall.core import signals
from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable
from fastinstall.journal.forget import (
    forget,
    list_forgettable_transactions,
    move_damaged_transaction_away,
    unreadable_named,
)
from fastinstall.journal.snapshot import measure_freed_bytes
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.model.facts import Environment
from fastinstall.model.history import Phase, Unreadable
from fastinstall.observe.session import Session
from fastinstall.setup.exclusive import hold_environment_lock
from fastinstall.setup.recovery import change_environment


@immutable
class PastTransaction:
    """One line of `rollback --list`.

    Attributes:
        id: the ID of the transaction, sortable by time; for an unreadable one, the name of its directory.
        at: the time at which it began, ISO 8601, UTC; empty if unreadable.
        state: its progress; "damaged" if its journal is missing or unreadable.
        verb: the command ("setup", "doctor --fix", "guard install --pin"); empty if not recorded.
        stack: the installed stack ("pillow 13.0.0+simd.v2.v3"); empty if it installed none.
        sequence: its number in this environment; the highest is undone first; 0 if unreadable.
        held: the disk space that forgetting the transaction would free, for people ("22.5 MB").
        held_bytes: the same disk space in bytes.
        problem: why its journal cannot be read; empty if it can be read.
    """

    id: str
    at: str
    state: Phase
    verb: str
    stack: str
    sequence: int
    held: str
    held_bytes: int
    problem: str = ""

    @property
    def title(self) -> str:
        """The command and the installed stack, for people; "unknown" if neither is recorded."""
        return " ".join(filter(None, (self.verb, self.stack))) or "unknown"


@immutable
class Transactions:
    """Transactions of an environment, such as those that can be undone.

    Attributes:
        transactions: first those with an unreadable journal, then the others, newest first.
        held_bytes: the disk space of these transactions together, in bytes.
    """

    transactions: tuple[PastTransaction, ...]
    held_bytes: int


def history(environment: Environment) -> Transactions:
    """Return the transactions that can be undone, newest first; those with an unreadable journal precede the others.

    Example:
        for transaction in history(environment).transactions:
            print(transaction.id, transaction.at, transaction.stack)
    """
    store = JournalStore(Path(environment.prefix))
    damaged = (_make_damaged_transaction(store, each) for each in store.unreadable())
    return _sum_up((*damaged, *map(_make_past_transaction, store.readable())))


def list_forgettable_history(environment: Environment, identifier: str | None) -> Transactions:
    """Return the transactions that `forget_in` would delete, or the damaged transaction that it would move aside.

    Example:
        print(list_forgettable_history(environment, None).held_bytes)
    """
    store = JournalStore(Path(environment.prefix))
    damaged = unreadable_named(store, identifier) if identifier is not None else None
    if damaged is not None:
        return _sum_up((_make_damaged_transaction(store, damaged),))
    return _sum_up(tuple(map(_make_past_transaction, list_forgettable_transactions(store, identifier))))


def forget_in(session: Session, environment: Environment, identifier: str | None) -> tuple[str, ...]:
    """Forget setups: delete the files that were kept to undo them. The installed files of the environment stay.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        identifier: the ID of a transaction, or the beginning of the ID: this transaction and all older ones are
            deleted. With None, all transactions that are not needed to undo the current setup are deleted. A
            transaction with an unreadable journal is moved to `kept/`, not deleted.

    Returns:
        Sentences that describe what was done.

    Raises:
        RefusedError: another program is working on the environment.
        UsageError: `identifier` matches no transaction, or several.

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
        with signals.defer_signals():  # forget all of the transactions, or none
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
    held = measure_freed_bytes((store.directory(unreadable.transaction),))
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
