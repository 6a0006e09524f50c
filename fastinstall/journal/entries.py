"""The lines of a journal as values, and what they amount to when read together. Pure: no disk.

All paths are relative to the environment's prefix, so that an environment that was moved or copied
whole can still be undone.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePath

from fastinstall.errors import DocumentError
from fastinstall.model.codec import decode, encode, kind_of
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move


@immutable
class Directory:
    """A directory whose entries change, as it was before.

    Attributes:
        path: which.
        mtime_ns: its modification time, nanoseconds since the epoch.
        names: a digest of its entries' names.
    """

    path: str
    mtime_ns: int
    names: str


@immutable
class SpreadDirectory:
    """A directory of a tree that is moved file by file.

    Attributes:
        path: relative to the top of the tree; "." for the top itself.
        mode: its permission bits.
        mtime_ns: its modification time.
    """

    path: str
    mode: int
    mtime_ns: int


@immutable
class Begun:
    """A transaction began.

    Attributes:
        id: of the transaction.
        at: ISO 8601, UTC.
        sequence: 1 for the first of an environment, and so on; the order that undoing follows.
        work: where its `stage` and `aside` lie.
        created: directories of ours that did not exist, outermost first.
        directories: whose entries change.
    """

    id: str
    at: str
    sequence: int
    work: str
    created: tuple[str, ...]
    directories: tuple[Directory, ...]


@immutable
class Moving:
    """These moves are about to happen, in this order.

    Attributes:
        moves: the moves.
        inodes: of what stands at each move's `live` before it; 0 where nothing does.
        created: parents that are made for them, outermost first.
        directories: further directories whose entries change.
        manifest: what comes in, file by file: path when it is live, to digest.
    """

    moves: tuple[Move, ...]
    inodes: tuple[int, ...]
    created: tuple[str, ...]
    directories: tuple[Directory, ...]
    manifest: dict[str, str]


@immutable
class Moved:
    """The moves announced last are done.

    Attributes:
        window_ns: how long they took, from before the first to after the last.
    """

    window_ns: int


@immutable
class Spreading:
    """A tree that cannot be renamed as a whole is about to be moved file by file.

    Attributes:
        source: from where.
        target: to where.
        directories: its directories, outermost first.
    """

    source: str
    target: str
    directories: tuple[SpreadDirectory, ...]


@immutable
class Spread:
    """The tree announced last has been moved."""


@immutable
class Committing:
    """The receipt is about to change.

    Attributes:
        replaces: whether there is an earlier one.
    """

    replaces: bool


@immutable
class Committed:
    """The transaction holds: from here on only a rollback undoes it."""

    at: str


@immutable
class Undoing:
    """Undoing began, and has to be brought to its end."""

    reason: str


Entry = Begun | Moving | Moved | Spreading | Spread | Committing | Committed | Undoing
_ENTRIES: dict[str, type[Entry]] = {
    kind_of(cls): cls for cls in (Begun, Moving, Moved, Spreading, Spread, Committing, Committed, Undoing)
}


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
        """The first line; None where the process died before it was written."""
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
    def batches(self) -> tuple[Moving, ...]:
        """Every announcement of moves."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving))

    def happened(self, batch: Moving) -> bool:
        """Whether all of its moves are done, and none of them is undone yet."""
        following = self.entries[self.entries.index(batch) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Moved)), None)
        return isinstance(outcome, Moved) and self.undoing is None

    @property
    def manifest(self) -> dict[str, str]:
        """All files that the transaction brought in."""
        return {path: digest for batch in self.batches for path, digest in batch.manifest.items()}

    @property
    def committing(self) -> Committing | None:
        """The announcement of the receipt's change."""
        return next((entry for entry in self.entries if isinstance(entry, Committing)), None)

    @property
    def unfinished_spread(self) -> Spreading | None:
        """The tree that was being moved file by file when the process died."""
        spreads = [entry for entry in self.entries if isinstance(entry, Spreading | Spread)]
        return spreads[-1] if spreads and isinstance(spreads[-1], Spreading) else None


def to_line(entry: Entry) -> str:
    """One line of JSON in ASCII; names that are not UTF-8 survive as escaped surrogates."""
    return json.dumps({"event": kind_of(type(entry)), **encode(entry)}, separators=(",", ":"))


def to_log(text: str, *, file: PurePath) -> Log:
    """Read a journal; a last line without its newline is one that death interrupted, and is dropped.

    Raises:
        DocumentError: a whole line is malformed; names the file, the line and the key.
    """
    lines = text.split("\n")[:-1]
    return Log(entries=tuple(_entries(lines, file)))


def _entries(lines: Iterable[str], file: PurePath) -> Iterable[Entry]:
    for number, line in enumerate(lines, start=1):
        where = f"{file}:{number}"
        try:
            data = json.loads(line)
        except ValueError as error:
            raise DocumentError(where, "", f"not JSON: {error}") from None
        if not isinstance(data, dict) or data.get("event") not in _ENTRIES:
            raise DocumentError(where, "event", f"expected one of {', '.join(_ENTRIES)}")
        yield decode(_ENTRIES[data.pop("event")], data, file=where)
