"""What the lines of a journal amount to when read together. Pure: no disk."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.journal.directories import Directory
from fastinstall.journal.entries import (
    Adding,
    Begun,
    Committed,
    Committing,
    Entry,
    Moved,
    Moving,
    Spread,
    Spreading,
    Undoing,
    Yielding,
    to_entry,
)
from fastinstall.journal.known import Known, known
from fastinstall.journal.lines import whole_lines
from fastinstall.journal.records import is_record
from fastinstall.journal.revisions import HISTORY
from fastinstall.journal.stretch import Engaged, Engaging
from fastinstall.model.immutable import immutable

Act = Moving | Engaging | Adding
"""What is undone as one, in the reverse order of the journal."""


class State(StrEnum):
    """How far a transaction came."""

    OPEN = "open"
    COMMITTED = "committed"
    UNDOING = "undoing"


@immutable
class Log:
    """A journal, read.

    Attributes:
        entries: its lines, oldest first.
    """

    entries: tuple[Entry, ...]

    @property
    def begun(self) -> Begun | None:
        """The first line, or None if the process died before writing it."""
        first = self.entries[0] if self.entries else None
        return first if isinstance(first, Begun) else None

    @property
    def state(self) -> State:
        """Whether it is open, committed, or being undone."""
        if self.undoing is not None:
            return State.UNDOING
        return State.COMMITTED if self.committed else State.OPEN

    @property
    def committed(self) -> bool:
        """Whether it ever held, undone since or not."""
        return any(isinstance(entry, Committed) for entry in self.entries)

    @property
    def undoing(self) -> Undoing | None:
        """Why it is being undone, if it is."""
        return next((entry for entry in self.entries if isinstance(entry, Undoing)), None)

    @property
    def yielding(self) -> Yielding | None:
        """What is left to another program when it is undone, if something is."""
        return next((entry for entry in self.entries if isinstance(entry, Yielding)), None)

    @property
    def acts(self) -> tuple[Act, ...]:
        """Every announcement of what changes the environment, in order."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving | Engaging | Adding))

    @property
    def batches(self) -> tuple[Moving, ...]:
        """Every announcement of moves."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving))

    @property
    def stretches(self) -> tuple[Engaging, ...]:
        """Every announcement of another program's changes."""
        return tuple(entry for entry in self.entries if isinstance(entry, Engaging))

    def happened(self, batch: Moving) -> bool:
        """Whether all of its moves are done, and none of them is undone yet."""
        following = self.entries[self.entries.index(batch) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Moved)), None)
        return isinstance(outcome, Moved) and self.undoing is None

    def outcome(self, engaging: Engaging) -> Engaged | None:
        """What a stretch came to; None where the process died in it."""
        following = self.entries[self.entries.index(engaging) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Engaging | Engaged)), None)
        return outcome if isinstance(outcome, Engaged) else None

    @property
    def known(self) -> Known:
        """Everything that stood somewhere by this transaction's doing, or before a stretch of it."""
        brought = [entry.manifest for entry in self.entries if isinstance(entry, Moving | Engaged)]
        before = ({copied.path: copied.digest for copied in stretch.copies} for stretch in self.stretches)
        dark = [stretch for stretch in self.stretches if self.outcome(stretch) is None]
        unwatched = (
            *(path for stretch in dark for path in stretch.paths),
            *(path for manifest in brought for path in filter(is_record, manifest)),
            HISTORY,
        )
        return known((*brought, *before), unwatched, self.begun.home if self.begun is not None else "")

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
    def unfinished_spread(self) -> Spreading | None:
        """The tree that was being moved file by file when the process died."""
        spreads = [entry for entry in self.entries if isinstance(entry, Spreading | Spread)]
        return spreads[-1] if spreads and isinstance(spreads[-1], Spreading) else None


def to_log(text: str, *, file: PurePath) -> Log:
    """Read a journal; a last line that death or a power failure interrupted is dropped.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be understood.
        DocumentError: a whole line is malformed; names the file, the line and the key.
    """
    lines = [(f"{file}:{number}", line) for number, line in enumerate(whole_lines(text), start=1)]
    entries = [to_entry(line, where=where) for where, line in lines[:1]]
    version = next((entry.tool_version for entry in entries if isinstance(entry, Begun)), "")
    return Log(entries=(*entries, *(to_entry(line, where=where, version=version) for where, line in lines[1:])))
