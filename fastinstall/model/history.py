"""What is on record of the changes that we made to an environment: transactions, and what a dead run left behind."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.immutable import immutable


class Phase(StrEnum):
    """How far a transaction is."""

    OPEN = "open"
    COMMITTED = "committed"
    UNDOING = "undoing"
    DAMAGED = "damaged"


@immutable
class PastTransaction:
    """One line of `rollback --list`.

    Attributes:
        id: of the transaction, sortable by time; for one that cannot be read the name of its directory.
        at: when it began, ISO 8601, UTC; empty where that cannot be read.
        state: how far it is; damaged: its journal cannot be read, or is not there.
        verb: what was called ("setup", "doctor --fix", "guard install --pin"); empty where nobody wrote it down.
        stack: what that brought ("pillow 13.0.0+simd.v2.v3"); empty where it brought no stack.
        sequence: its number in this environment, undone from the highest down; 0 where that cannot be read.
        held: the disk space that giving it up would free, for people ("22.5 MB").
        held_bytes: the same, in bytes.
        problem: why it cannot be read; empty where it can.
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
        """What it was, for people."""
        return " ".join(filter(None, (self.verb, self.stack))) or "unknown"


@immutable
class Transactions:
    """All transactions of an environment, the newest first.

    Attributes:
        transactions: each; those that cannot be read come first.
        held_bytes: what all of them hold, in bytes.
    """

    transactions: tuple[PastTransaction, ...]
    held_bytes: int


class Cut(StrEnum):
    """What a dead run left unfinished."""

    SETUP = "setup"
    """A transaction that neither finished nor was undone."""
    ROLLBACK = "rollback"
    """A transaction that was being undone."""
    BEGINNING = "beginning"
    """A transaction that had changed nothing yet; its directories are there."""
    END = "end"
    """A transaction that was undone or given up; some of its directories are still there."""
    PIN = "pin"
    """A change of the pin of a project."""
    FOREIGN_PIN = "foreign-pin"
    """The same, where nothing says that this user began it; the project may come from anybody."""
    CREATION = "creation"
    """The making of the environment itself."""


@immutable
class Interruption:
    """Something that was interrupted, and that the next command which changes anything brings to its end.

    Attributes:
        cut: what.
        verb: what had been called ("setup", "guard install"); empty where nobody wrote it down.
        at: when that began, ISO 8601, UTC; empty where nobody knows.
        file: what shows it.
        id: of the transaction; empty for a pin.
    """

    cut: Cut
    verb: str
    at: str
    file: PurePath
    id: str = ""


@immutable
class Unreadable:
    """A document of ours in an environment that this version cannot read.

    Attributes:
        file: the document.
        problem: what is wrong, and where in it.
        transaction: the transaction that it belongs to; empty for the receipt.
        writer: the version of fastinstall that wrote it, where that is a later one; empty: it is damaged.
        is_later: whether a later fastinstall wrote it, known by version or not.
    """

    file: PurePath
    problem: str
    transaction: str = ""
    writer: str = ""
    is_later: bool = False


@immutable
class Past:
    """What doctor looks at of all this.

    Attributes:
        interruptions: what a dead run left; transactions first.
        unreadable: documents that cannot be read.
        setups: identifiers of the transactions that hold, the newest first.
        held_bytes: the disk space that they hold; None where it was not counted.
    """

    interruptions: tuple[Interruption, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    setups: tuple[str, ...] = ()
    held_bytes: int | None = None
