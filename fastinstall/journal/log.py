"""The state of a transaction, computed from the lines of its journal without looking at the disk."""

from pathlib import PurePath

from fastinstall.core.errors import DocumentError
from fastinstall.core.values import immutable
from fastinstall.journal.conda_records import is_record
from fastinstall.journal.conda_revisions import HISTORY
from fastinstall.journal.entries import (
    Adding,
    Committed,
    Committing,
    Conceding,
    Entry,
    ExternalChangeBegun,
    ExternalChangeEnded,
    Moved,
    MovedTree,
    Moving,
    MovingTree,
    TransactionBegun,
    Undoing,
    parse_entry_line,
)
from fastinstall.journal.fingerprints import KnownFiles, merge_manifests
from fastinstall.journal.layout import split_whole_lines
from fastinstall.journal.remembered_directories import Directory
from fastinstall.model.history import Phase

Act = Moving | ExternalChangeBegun | Adding
"""An entry that announces changes of the environment. The changes are undone together, the newest act first."""


@immutable
class Log:
    """The entries of a journal.

    Attributes:
        entries: one for each line, oldest first.
    """

    entries: tuple[Entry, ...]

    @property
    def begun(self) -> TransactionBegun | None:
        """The entry that opened the transaction, or None if the process died before it was written."""
        first = self.entries[0] if self.entries else None
        return first if isinstance(first, TransactionBegun) else None

    def require_begun(self, file: PurePath) -> TransactionBegun:
        """Return the first entry.

        Args:
            file: path of the journal, only for the error message.

        Raises:
            DocumentError: the journal has no first entry.
        """
        if self.begun is None:
            raise DocumentError(f"{file}:1", "event", "expected 'begun'")
        return self.begun

    @property
    def state(self) -> Phase:
        """Whether the transaction is open, committed, or being undone."""
        if self.undoing is not None:
            return Phase.UNDOING
        return Phase.COMMITTED if self.committed else Phase.OPEN

    @property
    def committed(self) -> bool:
        """Whether the transaction has committed, even if it is being undone now."""
        return any(isinstance(entry, Committed) for entry in self.entries)

    @property
    def undoing(self) -> Undoing | None:
        """The entry with which undo began, or None."""
        return next((entry for entry in self.entries if isinstance(entry, Undoing)), None)

    @property
    def conceding(self) -> Conceding | None:
        """The entry that lists what undo leaves to another program, or None."""
        return next((entry for entry in self.entries if isinstance(entry, Conceding)), None)

    @property
    def acts(self) -> tuple[Act, ...]:
        """All entries that announce changes of the environment, oldest first."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving | ExternalChangeBegun | Adding))

    @property
    def batches(self) -> tuple[Moving, ...]:
        """All entries that announce moves, oldest first."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving))

    @property
    def begun_changes(self) -> tuple[ExternalChangeBegun, ...]:
        """All entries that announce external changes, oldest first."""
        return tuple(entry for entry in self.entries if isinstance(entry, ExternalChangeBegun))

    @property
    def dark_changes(self) -> tuple[ExternalChangeBegun, ...]:
        """The external changes whose end was not recorded, so that their outcome is unknown."""
        return tuple(change for change in self.begun_changes if self.outcome(change) is None)

    def happened(self, batch: Moving) -> bool:
        """Return whether all moves of a batch are recorded as done and undo has not begun."""
        following = self.entries[self.entries.index(batch) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Moved)), None)
        return isinstance(outcome, Moved) and self.undoing is None

    def outcome(self, begun: ExternalChangeBegun) -> ExternalChangeEnded | None:
        """Return the entry that ended an external change, or None if the process died first."""
        following = self.entries[self.entries.index(begun) + 1 :]
        outcome = next(
            (entry for entry in following if isinstance(entry, Moving | ExternalChangeBegun | ExternalChangeEnded)),
            None,
        )
        return outcome if isinstance(outcome, ExternalChangeEnded) else None

    @property
    def known(self) -> KnownFiles:
        """Contents of the files that the transaction installed or copied before its external changes."""
        brought = [entry.manifest for entry in self.entries if isinstance(entry, Moving | ExternalChangeEnded)]
        before = ({copied.path: copied.digest for copied in change.copies} for change in self.begun_changes)
        unwatched = (
            *(path for change in self.dark_changes for path in change.paths),
            *(path for manifest in brought for path in filter(is_record, manifest)),
            HISTORY,
        )
        return merge_manifests((*brought, *before), unwatched, self.begun.home if self.begun is not None else "")

    @property
    def directories(self) -> tuple[Directory, ...]:
        """Directories as they were before the transaction, except those that it installed itself."""
        first = {directory.path: directory for directory in (self.begun.directories if self.begun else ())}
        brought: set[str] = set()
        for act in self.acts:
            for directory in act.directories:
                if brought.isdisjoint((directory.path, *map(str, PurePath(directory.path).parents))):
                    first.setdefault(directory.path, directory)
            brought.update(move.live for move in (act.moves if isinstance(act, Moving) else ()))
        return tuple(first.values())

    @property
    def committing(self) -> Committing | None:
        """The entry that announces the change of the receipt, or None."""
        return next((entry for entry in self.entries if isinstance(entry, Committing)), None)

    @property
    def unfinished_tree_move(self) -> MovingTree | None:
        """The tree whose file-by-file move was interrupted, or None."""
        moves = [entry for entry in self.entries if isinstance(entry, MovingTree | MovedTree)]
        return moves[-1] if moves and isinstance(moves[-1], MovingTree) else None


def parse_journal(text: str, *, file: PurePath) -> Log:
    """Return the log of a journal's text; an incomplete last line, left by a kill or a power failure, is dropped.

    Raises:
        LaterDocumentError: a later fastinstall wrote the journal in a form that this version cannot read.
        DocumentError: a complete line is malformed; the message names the file, the line and the key.
    """
    lines = [(f"{file}:{number}", line) for number, line in enumerate(split_whole_lines(text), start=1)]
    entries = [parse_entry_line(line, where=where) for where, line in lines[:1]]
    version = next((entry.tool_version for entry in entries if isinstance(entry, TransactionBegun)), "")
    return Log(entries=(*entries, *(parse_entry_line(line, where=where, version=version) for where, line in lines[1:])))
