"""The state of a transaction, read from the lines of its journal. Pure."""

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
"""What is undone as one, in the reverse order of the journal."""


@immutable
class Log:
    """A journal, read.

    Attributes:
        entries: its lines, oldest first.
    """

    entries: tuple[Entry, ...]

    @property
    def begun(self) -> TransactionBegun | None:
        """The first line, or None if the process died before writing it."""
        first = self.entries[0] if self.entries else None
        return first if isinstance(first, TransactionBegun) else None

    def require_begun(self, file: PurePath) -> TransactionBegun:
        """Return the first line.

        Raises:
            DocumentError: there is none; names the file, which only the message needs.
        """
        if self.begun is None:
            raise DocumentError(f"{file}:1", "event", "expected 'begun'")
        return self.begun

    @property
    def state(self) -> Phase:
        """Whether it is open, committed, or being undone."""
        if self.undoing is not None:
            return Phase.UNDOING
        return Phase.COMMITTED if self.committed else Phase.OPEN

    @property
    def committed(self) -> bool:
        """Whether it ever held, undone since or not."""
        return any(isinstance(entry, Committed) for entry in self.entries)

    @property
    def undoing(self) -> Undoing | None:
        """Why it is being undone, if it is."""
        return next((entry for entry in self.entries if isinstance(entry, Undoing)), None)

    @property
    def conceding(self) -> Conceding | None:
        """What is left to another program when it is undone, if something is."""
        return next((entry for entry in self.entries if isinstance(entry, Conceding)), None)

    @property
    def acts(self) -> tuple[Act, ...]:
        """Every announcement of what changes the environment, in order."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving | ExternalChangeBegun | Adding))

    @property
    def batches(self) -> tuple[Moving, ...]:
        """Every announcement of moves."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving))

    @property
    def begun_changes(self) -> tuple[ExternalChangeBegun, ...]:
        """Every announcement of another program's changes."""
        return tuple(entry for entry in self.entries if isinstance(entry, ExternalChangeBegun))

    @property
    def dark_changes(self) -> tuple[ExternalChangeBegun, ...]:
        """Announcements of changes in which the process died: nobody knows what they came to."""
        return tuple(change for change in self.begun_changes if self.outcome(change) is None)

    def happened(self, batch: Moving) -> bool:
        """Return whether all of its moves are done, and none of them is undone yet."""
        following = self.entries[self.entries.index(batch) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Moved)), None)
        return isinstance(outcome, Moved) and self.undoing is None

    def outcome(self, begun: ExternalChangeBegun) -> ExternalChangeEnded | None:
        """Return what an external change came to; None if the process died in it."""
        following = self.entries[self.entries.index(begun) + 1 :]
        outcome = next(
            (entry for entry in following if isinstance(entry, Moving | ExternalChangeBegun | ExternalChangeEnded)),
            None,
        )
        return outcome if isinstance(outcome, ExternalChangeEnded) else None

    @property
    def known(self) -> KnownFiles:
        """Everything that stood somewhere by this transaction's doing, or before an external change of it."""
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
        """Directories as they were before the transaction, less those that it had brought in itself."""
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
        """The announcement of the receipt's change."""
        return next((entry for entry in self.entries if isinstance(entry, Committing)), None)

    @property
    def unfinished_tree_move(self) -> MovingTree | None:
        """The tree that was being moved file by file when the process died."""
        moves = [entry for entry in self.entries if isinstance(entry, MovingTree | MovedTree)]
        return moves[-1] if moves and isinstance(moves[-1], MovingTree) else None


def parse_journal(text: str, *, file: PurePath) -> Log:
    """Read a journal; a last line that death or a power failure interrupted is dropped.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be understood.
        DocumentError: a whole line is malformed; names the file, the line and the key.
    """
    lines = [(f"{file}:{number}", line) for number, line in enumerate(split_whole_lines(text), start=1)]
    entries = [parse_entry_line(line, where=where) for where, line in lines[:1]]
    version = next((entry.tool_version for entry in entries if isinstance(entry, TransactionBegun)), "")
    return Log(entries=(*entries, *(parse_entry_line(line, where=where, version=version) for where, line in lines[1:])))
