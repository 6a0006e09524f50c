"""The recorded changes to an environment: transactions, unreadable documents, and the disk space that undoing needs."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.messages import format_bytes, quote
from fastinstall.core.values import immutable, published_as
from fastinstall.model.interruption import Interruption


class Phase(StrEnum):
    """The progress of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    UNDOING = "undoing"
    DAMAGED = "damaged"


@immutable
class PastTransaction:
    """One line of `rollback --list`.

    Attributes:
        id: of the transaction, sortable by time; for an unreadable one, the name of its directory.
        at: its start, ISO 8601, UTC; empty if unreadable.
        state: its progress; damaged: its journal cannot be read, or is missing.
        verb: the command ("setup", "doctor --fix", "guard install --pin"); empty if not recorded.
        stack: the installed stack ("pillow 13.0.0+simd.v2.v3"); empty if it installed none.
        sequence: its number in this environment, undone from the highest down; 0 if unreadable.
        held: the disk space that deleting it would free, for people ("22.5 MB").
        held_bytes: the same, in bytes.
        problem: why it cannot be read; empty if it can.
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
        """Its description, for people."""
        return " ".join(filter(None, (self.verb, self.stack))) or "unknown"


@immutable
class Transactions:
    """All transactions of an environment, the newest first.

    Attributes:
        transactions: each; unreadable ones come first.
        held_bytes: disk space of all of them, in bytes.
    """

    transactions: tuple[PastTransaction, ...]
    held_bytes: int


@immutable
class Unreadable:
    """One of our documents in an environment, unreadable for this version.

    Attributes:
        file: path of the document: a receipt or a journal.
        problem: the problem, and its place in the document.
        transaction: its transaction; empty for the receipt.
        writer: the later version of fastinstall that wrote it; empty if it is damaged.
        is_later: whether a later fastinstall wrote it, known by version or not.
    """

    file: PurePath
    problem: str
    transaction: str = ""
    writer: str = ""
    is_later: bool = False


@published_as("Past")
@immutable
class EnvironmentHistory:
    """The parts of the history that doctor examines.

    Attributes:
        interruptions: leftovers of killed runs; transactions first.
        unreadable: documents that cannot be read.
        setups: identifiers of the current transactions, the newest first.
        held_bytes: their disk space; None if not counted.
    """

    interruptions: tuple[Interruption, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    setups: tuple[str, ...] = ()
    held_bytes: int | None = None


def way_out(unreadable: Unreadable, prefix: PurePath) -> str | None:
    """Return the command that repairs an unreadable transaction, or None if a later fastinstall is needed."""
    if unreadable.is_later or not unreadable.transaction:
        return None
    return f"fastinstall rollback --forget {quote(unreadable.transaction)} --prefix {quote(prefix)}"


MANY = 5
"""More setups than this are worth mentioning."""
MUCH = 500_000_000
"""Disk space worth mentioning, in bytes."""


def warn_about_held_bytes(setups: Sequence[str], held_bytes: int, prefix: PurePath) -> str | None:
    """Return a sentence with the command that frees the space, or None if little or nothing can be freed.

    Args:
        setups: the transactions with stored files.
        held_bytes: their total disk space.
        prefix: of the environment, for the command.
    """
    if len(setups) <= 1 or (len(setups) <= MANY and held_bytes < MUCH):
        return None
    freed = f"fastinstall rollback --forget --prefix {quote(prefix)}"
    return (
        f"{len(setups)} changes keep {format_bytes(held_bytes)} so that you can undo them; to free all but the "
        f"last setup's: {freed}"
    )
