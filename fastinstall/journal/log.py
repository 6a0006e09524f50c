"""Read and append the lines of a transaction's journal, and derive the transaction's state from them."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.values import immutable
from fastinstall.journal.conda_meta import HISTORY, is_record
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
    decode_entry,
    format_entry_line,
)
from fastinstall.journal.events import measure_whole_lines, read_journal_events
from fastinstall.journal.fingerprints import KnownFiles, merge_manifests
from fastinstall.journal.path_rules import refuse_escapes
from fastinstall.journal.remembered_directories import Directory
from fastinstall.model.history import Phase


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
        """The entry with which undo began, or None if no undo has begun."""
        return next((entry for entry in self.entries if isinstance(entry, Undoing)), None)

    @property
    def conceding(self) -> Conceding | None:
        """The entry that lists what undo leaves to another program, or None if there is no such entry."""
        return next((entry for entry in self.entries if isinstance(entry, Conceding)), None)

    @property
    def acts(self) -> tuple[Moving | ExternalChangeBegun | Adding, ...]:
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
        """The external changes whose end was not recorded; what they changed is unknown."""
        return tuple(change for change in self.begun_changes if self.outcome(change) is None)

    def happened(self, batch: Moving) -> bool:
        """Return whether all moves of a batch are recorded as done and undo has not begun."""
        following = self.entries[self.entries.index(batch) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Moved)), None)
        return isinstance(outcome, Moved) and self.undoing is None

    def outcome(self, begun: ExternalChangeBegun) -> ExternalChangeEnded | None:
        """Return the entry that recorded the end of an external change, or None if the end was not recorded."""
        following = self.entries[self.entries.index(begun) + 1 :]
        outcome = next(
            (entry for entry in following if isinstance(entry, Moving | ExternalChangeBegun | ExternalChangeEnded)),
            None,
        )
        return outcome if isinstance(outcome, ExternalChangeEnded) else None

    @property
    def known(self) -> KnownFiles:
        """All file contents that the journal records, including those copied before external changes."""
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
        """Directories as they were before the transaction, except those that the transaction itself installed."""
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
        """The entry that announces the change of the receipt, or None if the commit has not begun."""
        return next((entry for entry in self.entries if isinstance(entry, Committing)), None)

    @property
    def unfinished_tree_move(self) -> MovingTree | None:
        """The entry of a file-by-file move that was interrupted, or None if there is no such entry."""
        moves = [entry for entry in self.entries if isinstance(entry, MovingTree | MovedTree)]
        return moves[-1] if moves and isinstance(moves[-1], MovingTree) else None


def decode_log(events: Iterable[dict[str, Any]], *, file: PurePath) -> Log:
    """Decode the events of a journal, which `read_journal_events` has read.

    Raises:
        DocumentError: an event is malformed; the message names the file, the line and the key.
    """
    numbered = enumerate(events, start=1)
    return Log(entries=tuple(decode_entry(event, where=f"{file}:{number}") for number, event in numbered))


class Journal:
    """The journal of one transaction: lines are only appended, each durable before the change that it announces.

    Args:
        file: path of the journal, which need not exist yet.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def append(self, entry: Entry) -> None:
        """Append one line and sync it; an incomplete last line is cut off first.

        Raises:
            OSError: the line could not be written; any part of it is removed again if possible.
        """
        content = foreign.read_bytes(self.file) if self.file.exists() else b""
        whole = measure_whole_lines(content)
        if whole < len(content):
            self._cut(whole)
        try:
            files.append_line(self.file, format_entry_line(entry))
        except OSError:
            with contextlib.suppress(OSError):  # the line may not be durable, so no later run may read it
                self._cut(whole)
            raise

    def read(self) -> Log:
        """Read all complete lines.

        Raises:
            DocumentError: the file is missing, one of its lines is malformed, or a path leads out of the environment.
        """
        if self.file.is_symlink():
            raise DocumentError(self.file, "", f"a link to {self.file.readlink()}: a journal is never a link")
        log = decode_log(read_journal_events(self.file), file=self.file)
        refuse_escapes(log.entries, self.file)
        return log

    def _cut(self, size: int) -> None:
        """Truncate the file to `size` bytes without following a link."""
        with files.opened(self.file, os.O_WRONLY | os.O_NOFOLLOW) as descriptor:
            os.ftruncate(descriptor, size)
