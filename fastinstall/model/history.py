"""The recorded changes to an environment: moves, transactions, interrupted runs, unreadable documents. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.messages import format_bytes, quote, recover_command
from fastinstall.core.values import immutable


class MoveKind(StrEnum):
    """The directions of a move: out of the environment, into it, or both at once."""

    OUT = "out"
    IN = "in"
    EXCHANGE = "exchange"


@immutable
class Move:
    """One rename of a transaction, inside one filesystem.

    OUT moves `live` to `kept`; IN moves `kept` to `live`; EXCHANGE swaps the two.

    Attributes:
        kind: the kind of move.
        live: path of the entry while it is in use, relative to the environment's prefix.
        kept: path of the entry while it is not in use, relative to the transaction's directory.
    """

    kind: MoveKind
    live: str
    kept: str


class UnfinishedRun(StrEnum):
    """Kinds of changes that a killed run can leave unfinished."""

    SETUP = "setup"
    """A transaction that was neither finished nor undone."""
    ROLLBACK = "rollback"
    """A transaction that was being undone."""
    PREPARATION = "preparation"
    """A transaction that had changed nothing yet, but had created its directories."""
    CLEANUP = "cleanup"
    """A transaction that was undone or deleted; some of its directories still exist."""
    CREATION = "creation"
    """The creation of the environment itself."""


@immutable
class Interruption:
    """An interrupted change. The next command that changes the environment finishes or undoes it.

    Attributes:
        kind: the kind of change that was interrupted.
        verb: the command ("setup", "guard install"); empty if not recorded.
        at: when it started, ISO 8601, UTC; empty if unknown.
        file: the file that shows the interruption.
        id: ID of the transaction; empty for the creation of the environment.
    """

    kind: UnfinishedRun
    verb: str
    at: str
    file: PurePath
    id: str = ""


def describe_interruption(interruption: Interruption, prefix: PurePath) -> str:
    """Describe an interruption, and give the command that restores the environment or finishes the change.

    Args:
        prefix: the environment's prefix, for the command.
    """
    command, what = recovery_command(interruption, prefix), describe_what_was_interrupted(interruption)
    aims = {UnfinishedRun.SETUP: "to restore the environment", UnfinishedRun.CREATION: "to start again"}
    return f"{what} was interrupted; {aims.get(interruption.kind, 'to finish it')}: {command}"


def describe_finished_interruption(interruption: Interruption, *, cleared: bool = False) -> str:
    """Describe an interruption and how recovery ended; `cleared` means that recovery only removed leftovers."""
    ends = {
        UnfinishedRun.SETUP: "the environment is restored",
        UnfinishedRun.ROLLBACK: "it is finished: the environment is restored",
        UnfinishedRun.PREPARATION: "it had changed nothing; its leftovers are removed",
        UnfinishedRun.CLEANUP: "it is finished",
        UnfinishedRun.CREATION: "it is used as it is",
    }
    end = "its leftovers are removed" if cleared else ends[interruption.kind]
    return f"{describe_what_was_interrupted(interruption)} had been interrupted; {end}"


def describe_what_was_interrupted(interruption: Interruption) -> str:
    """Describe what was interrupted, and when it started."""
    run = f"{interruption.verb or 'run'}{f' of {interruption.at}' if interruption.at else ''}"
    return {
        UnfinishedRun.SETUP: f"the {run}",
        UnfinishedRun.PREPARATION: f"the {run}",
        UnfinishedRun.ROLLBACK: f"undoing the {run}",
        UnfinishedRun.CLEANUP: f"clearing up after the {run}",
        UnfinishedRun.CREATION: f"creating the environment{f' at {interruption.at}' if interruption.at else ''}",
    }[interruption.kind]


def recovery_command(interruption: Interruption, prefix: PurePath) -> str:
    """Return the command that finishes or undoes the interrupted run, and does nothing else.

    For an interrupted creation of an environment, return the command that sets up that environment again.
    """
    if interruption.kind is UnfinishedRun.CREATION:
        return f"fastinstall setup --yes --new-env {quote(prefix)}"
    return recover_command(prefix)


class Phase(StrEnum):
    """The state of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    UNDOING = "undoing"
    DAMAGED = "damaged"


@immutable
class Unreadable:
    """A receipt or journal, found in an environment, that this version of fastinstall cannot read.

    Attributes:
        file: path of the receipt or journal.
        problem: the problem, and its place in the document.
        transaction: ID of the transaction that the journal records; empty for a receipt.
        writer: the later version of fastinstall that wrote the document; empty if unknown, or for a damaged document.
        is_later: whether a later fastinstall wrote the document; true even if that version is unknown.
    """

    file: PurePath
    problem: str
    transaction: str = ""
    writer: str = ""
    is_later: bool = False


@immutable
class EnvironmentHistory:
    """The parts of an environment's history that doctor examines.

    Attributes:
        interruptions: changes that killed runs left unfinished; transactions first.
        unreadable: documents that cannot be read.
        setups: IDs of the transactions whose files are stored for undoing them, the newest first.
        held_bytes: disk space of the stored files, in bytes; None if not counted.
    """

    interruptions: tuple[Interruption, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    setups: tuple[str, ...] = ()
    held_bytes: int | None = None


def way_out(unreadable: Unreadable, prefix: PurePath) -> str | None:
    """Return the command that moves an unreadable transaction away.

    Return None for a receipt, and for a document that a later fastinstall wrote.
    """
    if unreadable.is_later or not unreadable.transaction:
        return None
    return f"fastinstall rollback --forget {quote(unreadable.transaction)} --prefix {quote(prefix)}"


MANY = 5
"""Number of stored setups above which a warning is given."""
MUCH = 500_000_000
"""Disk space of stored files, in bytes, from which a warning is given."""


def warn_about_held_bytes(setups: Sequence[str], held_bytes: int, prefix: PurePath) -> str | None:
    """Return a warning about stored files, with the command that deletes them.

    Return None for a single setup, and for up to MANY setups that together take less than MUCH.

    Args:
        setups: IDs of the transactions with stored files.
        held_bytes: the disk space of these files, in bytes.
        prefix: the environment's prefix, for the command.
    """
    if len(setups) <= 1 or (len(setups) <= MANY and held_bytes < MUCH):
        return None
    freed = f"fastinstall rollback --forget --prefix {quote(prefix)}"
    return (
        f"{len(setups)} changes keep {format_bytes(held_bytes)} so that you can undo them; to free all but the "
        f"last setup's: {freed}"
    )
