"""The recorded changes to an environment: transactions, and what an interrupted run left behind.

An interruption is described in one sentence, before and after it was finished. Another says what rollback costs in disk
space, when that is worth mentioning.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.messages import fix_command, quote
from fastinstall.core.values import immutable, published_as


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
        at: when it began, ISO 8601, UTC; empty if that cannot be read.
        state: how far it is; damaged: its journal cannot be read, or is not there.
        verb: what was called ("setup", "doctor --fix", "guard install --pin"); empty if nobody wrote it down.
        stack: what that brought ("pillow 13.0.0+simd.v2.v3"); empty if it brought no stack.
        sequence: its number in this environment, undone from the highest down; 0 where that cannot be read.
        held: the disk space that giving it up would free, for people ("22.5 MB").
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


class UnfinishedRun(StrEnum):
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
        verb: what had been called ("setup", "guard install"); empty if nobody wrote it down.
        at: when that began, ISO 8601, UTC; empty if nobody knows.
        file: what shows it.
        id: of the transaction; empty for a pin.
    """

    cut: UnfinishedRun
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


@published_as("Past")
@immutable
class EnvironmentHistory:
    """What doctor looks at of all this.

    Attributes:
        interruptions: what a dead run left; transactions first.
        unreadable: documents that cannot be read.
        setups: identifiers of the transactions that hold, the newest first.
        held_bytes: the disk space that they hold; None if it was not counted.
    """

    interruptions: tuple[Interruption, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    setups: tuple[str, ...] = ()
    held_bytes: int | None = None


def describe_interruption(interruption: Interruption, prefix: PurePath) -> str:
    """Describe what was interrupted and name the command that recovers it.

    Args:
        interruption: of the environment, or of its project.
        prefix: of the environment.
    """
    command, what = recovery_command(interruption, prefix), describe_what_was_interrupted(interruption)
    if interruption.cut is UnfinishedRun.FOREIGN_PIN:
        return f"{what}, and is left as it is; if you know where it came from, remove it: {command}"
    aims = {
        UnfinishedRun.SETUP: "to have the environment as it was before it",
        UnfinishedRun.CREATION: "to begin again",
    }
    return f"{what} was interrupted; {aims.get(interruption.cut, 'to finish it')}: {command}"


def describe_finished_interruption(interruption: Interruption, *, cleared: bool = False) -> str:
    """Describe what had been interrupted and how recovery left it; `cleared` if it left nothing behind."""
    ends = {
        UnfinishedRun.SETUP: "the environment is as it was before it",
        UnfinishedRun.ROLLBACK: "it is finished: the environment is as it was before that",
        UnfinishedRun.BEGINNING: "it had changed nothing, and what it had begun is cleared away",
        UnfinishedRun.END: "it is finished",
        UnfinishedRun.PIN: "it is brought to its end",
        UnfinishedRun.FOREIGN_PIN: "it is left as it is",
        UnfinishedRun.CREATION: "it is taken as it is",
    }
    end = "what was there of it is cleared away" if cleared else ends[interruption.cut]
    return f"{describe_what_was_interrupted(interruption)} had been interrupted; {end}"


def describe_what_was_interrupted(interruption: Interruption) -> str:
    """What was interrupted, and when it had begun."""
    run = f"{interruption.verb or 'run'}{f' of {interruption.at}' if interruption.at else ''}"
    pin = f"a change of the pin in {interruption.file.parent.parent}"
    return {
        UnfinishedRun.SETUP: f"the {run}",
        UnfinishedRun.BEGINNING: f"the {run}",
        UnfinishedRun.ROLLBACK: f"undoing the {run}",
        UnfinishedRun.END: f"clearing up after the {run}",
        UnfinishedRun.CREATION: f"making the environment{f' at {interruption.at}' if interruption.at else ''}",
        UnfinishedRun.PIN: pin,
        UnfinishedRun.FOREIGN_PIN: f"{pin} that you did not begin here is unfinished",
    }[interruption.cut]


def recovery_command(interruption: Interruption, prefix: PurePath) -> str:
    """The command that brings it to its end, and does nothing else where that can be had."""
    if interruption.cut in (UnfinishedRun.SETUP, UnfinishedRun.ROLLBACK):
        return f"fastinstall rollback --yes --prefix {quote(prefix)}"
    if interruption.cut is UnfinishedRun.CREATION:
        return f"fastinstall setup --yes --new-env {quote(prefix)}"
    if interruption.cut is UnfinishedRun.FOREIGN_PIN:
        return unpinning_command(interruption.file.parent.parent, prefix)
    return f"{fix_command(prefix)} --yes"


def unpinning_command(project: PurePath, prefix: PurePath) -> str:
    """The command that takes the pin out of a project, whoever made it."""
    return f"fastinstall guard remove --yes --prefix {quote(prefix)} --project {quote(project)}"


def way_out(unreadable: Unreadable, prefix: PurePath) -> str | None:
    """Return the command that repairs an unreadable transaction, or None if a later fastinstall is needed."""
    if unreadable.is_later or not unreadable.transaction:
        return None
    return f"fastinstall rollback --forget {quote(unreadable.transaction)} --prefix {quote(prefix)}"


MANY = 5
"""More setups than this are worth a word."""
MUCH = 500_000_000
"""As many bytes are."""


def warn_about_held_bytes(setups: Sequence[str], held_bytes: int, prefix: PurePath) -> str | None:
    """Name the command that frees the space, or return None if little or nothing can be freed.

    Args:
        setups: the transactions that hold something.
        held_bytes: what they hold together.
        prefix: of the environment.
    """
    if len(setups) <= 1 or (len(setups) <= MANY and held_bytes < MUCH):
        return None
    freed = f"fastinstall rollback --forget --prefix {quote(prefix)}"
    return (
        f"the way back through {len(setups)} changes holds {format_bytes(held_bytes)}; all but the "
        f"last setup's: {freed}"
    )


def format_bytes(count: int) -> str:
    """Bytes for people: "22.5 MB", in powers of 1000."""
    units = ("B", "kB", "MB", "GB", "TB")
    power = min((len(str(count)) - 1) // 3, len(units) - 1)
    return f"{count / 1000**power:.1f} {units[power]}" if power else f"{count} B"
