"""Define one class for each kind of line in a journal; `journal.log` interprets the lines together.

All paths are relative to the environment's prefix, so that changes can still be undone after the whole environment was
moved or copied.

If another program changes the environment, one entry announces its changes before the program starts, and another
records them after it has ended.
"""

import json
from typing import Any

from fastinstall.core.codec import decode, encode
from fastinstall.core.values import immutable
from fastinstall.journal.remembered_directories import Directory
from fastinstall.model.history import Move


@immutable
class ExternalChange:
    """The changes that another program is expected to make.

    Attributes:
        copies: files that the program removes or overwrites; one that does not exist is treated as if it were in
            `appearing`.
        appearing: files that the program creates; one that already exists is treated as if it were in `copies`.
        own_places: `Path.glob` patterns of paths that only the program uses, such as drafts: undo removes every new
            file at or below these paths.
    """

    copies: tuple[str, ...]
    appearing: tuple[str, ...]
    own_places: tuple[str, ...] = ()


@immutable
class Copied:
    """A file or symbolic link as it was before an external change.

    The file name of its copy is its index in `ExternalChangeBegun.copies`.

    Attributes:
        path: path of the file, relative to the prefix.
        digest: digest of the content, as returned by `fingerprints.digest_entry`.
        mode: permission bits, without the file type.
        mtime_ns: modification time, nanoseconds since the epoch.
    """

    path: str
    digest: str
    mode: int
    mtime_ns: int


@immutable
class ExternalChangeBegun:
    """Another program is about to change the environment.

    Attributes:
        area: directory of the copies, relative to the transaction's `work`; moved away once the change is undone.
        copies: the copied files, in the order of the copies' numbers.
        appearing: files that the program may create and that do not exist yet.
        own_places: glob patterns of paths that only the program uses; see `ExternalChange`.
        records: names of the package records that `conda-meta` holds before the change.
        created: directories that do not exist and that the program may make for its files, outermost first.
        directories: existing directories whose entries may change, outermost first.
    """

    area: str
    copies: tuple[Copied, ...]
    appearing: tuple[str, ...]
    own_places: tuple[str, ...]
    records: tuple[str, ...]
    created: tuple[str, ...]
    directories: tuple[Directory, ...]

    @property
    def paths(self) -> frozenset[str]:
        """Paths of all announced files, copied or appearing."""
        return frozenset((*(copied.path for copied in self.copies), *self.appearing))


@immutable
class ExternalChangeEnded:
    """The most recently announced external change has ended, successfully or not.

    Attributes:
        manifest: digests of the files that the program created or changed, by path.
        untouched: copied paths that the program did not change.
        removed: directories that the program removed.
    """

    manifest: dict[str, str]
    untouched: tuple[str, ...]
    removed: tuple[str, ...]


@immutable
class TreeDirectory:
    """A directory of a tree that is moved file by file.

    Attributes:
        path: relative to the top of the tree; "." for the top itself.
        mode: permission bits, without the file type.
        mtime_ns: modification time, nanoseconds since the epoch.
    """

    path: str
    mode: int
    mtime_ns: int


@immutable
class TransactionBegun:
    """A transaction began.

    Attributes:
        id: the identifier, a time and a token: "20261121T101500Z-3fa2c1".
        at: time of the start, ISO 8601, UTC.
        sequence: number of the transaction in its environment, from 1; transactions are undone in descending order.
        work: directory of `stage` and `aside`.
        created: fastinstall's directories that did not exist before, outermost first.
        directories: the existing directories whose entries change, as they were before.
        verb: the command that was run ("guard remove"); read only if the plan file does not exist yet.
        tool_version: version of the fastinstall that writes the journal.
        home: the prefix as hexadecimal text. `conda create --clone`, for example, replaces the prefix in text files,
            but does not recognise this form.
        schema: schema of the journal. Its number rises if the meaning of an existing event changes. It does not rise
            for an added event, since older versions refuse unknown events.
    """

    id: str
    at: str
    sequence: int
    work: str
    created: tuple[str, ...]
    directories: tuple[Directory, ...]
    verb: str
    tool_version: str
    home: str
    schema: str = "fastinstall.journal/1"


@immutable
class Moving:
    """These moves are about to happen, in this order.

    Attributes:
        moves: the moves, in order.
        inodes: inode number at each move's `live` before the move; 0 if `live` does not exist.
        created: parent directories that are made for the moves, outermost first.
        directories: existing directories whose entries change, except those that `TransactionBegun` records.
        manifest: digests of the incoming files, by their `live` path.
    """

    moves: tuple[Move, ...]
    inodes: tuple[int, ...]
    created: tuple[str, ...]
    directories: tuple[Directory, ...]
    manifest: dict[str, str]


@immutable
class Moved:
    """The most recently announced moves are done.

    Attributes:
        window_ns: total duration of the moves, in nanoseconds.
    """

    window_ns: int


@immutable
class MovingTree:
    """A tree that cannot be renamed as a whole is about to be moved file by file.

    Attributes:
        source: the top of the tree, relative to the prefix.
        target: the path that the tree moves to, relative to the prefix.
        directories: directories of the tree, outermost first.
    """

    source: str
    target: str
    directories: tuple[TreeDirectory, ...]


@immutable
class MovedTree:
    """The most recently announced tree has been moved."""


@immutable
class Adding:
    """Text is about to be added to a file that other programs write too.

    Attributes:
        path: path of the file, relative to the prefix.
        text: the added text, written in UTF-8 without newline translation.
        size: size of the file before the addition, in bytes; -1 if it did not exist.
        sha256: SHA-256 of the file's content before the addition, in hexadecimal.
        mtime_ns: modification time of the file before the addition, nanoseconds since the epoch.
        draft: temporary path of the rewritten file before it is renamed to `path`.
        directories: the file's directory as it was before the addition; empty if that directory did not exist.
        place: byte offset of the text in the file; -1 for the end.
    """

    path: str
    text: str
    size: int
    sha256: str
    mtime_ns: int
    draft: str
    directories: tuple[Directory, ...] = ()
    place: int = -1


@immutable
class Committing:
    """The receipt is about to change.

    Attributes:
        replaces: whether the environment has had a receipt until now.
    """

    replaces: bool


@immutable
class Committed:
    """The transaction has committed: from here on only a rollback undoes it."""

    at: str


@immutable
class Conceding:
    """Undo will leave files of another program in place; the previous content is kept for the user instead.

    Attributes:
        paths: `live` paths of the moves that are not undone.
        areas: `area` of each external change that is not undone.
        dropped: `live` paths from which undo removes our file without restoring the previous one, because the previous
            file would contradict the other program's files.
    """

    paths: tuple[str, ...]
    areas: tuple[str, ...]
    dropped: tuple[str, ...] = ()


@immutable
class Undoing:
    """Undo has begun, and must be completed."""

    reason: str


Entry = (
    TransactionBegun
    | Moving
    | Moved
    | ExternalChangeBegun
    | ExternalChangeEnded
    | MovingTree
    | MovedTree
    | Adding
    | Committing
    | Committed
    | Conceding
    | Undoing
)
_ENTRIES: dict[str, type[Entry]] = {
    "begun": TransactionBegun,
    "moving": Moving,
    "moved": Moved,
    "external-change-begun": ExternalChangeBegun,
    "external-change-ended": ExternalChangeEnded,
    "moving-tree": MovingTree,
    "moved-tree": MovedTree,
    "adding": Adding,
    "committing": Committing,
    "committed": Committed,
    "conceding": Conceding,
    "undoing": Undoing,
}
_EVENTS = {cls: event for event, cls in _ENTRIES.items()}


def format_entry_line(entry: Entry) -> str:
    """Return an entry as one line of ASCII JSON; file names that are not UTF-8 are kept as escaped surrogates."""
    return json.dumps({"event": _EVENTS[type(entry)], **encode(entry)}, separators=(",", ":"))


def decode_entry(event: dict[str, Any], *, where: str) -> Entry:
    """Return the entry of an event; unknown keys are ignored, since a later fastinstall may have added them.

    Args:
        event: one line of a journal, as `parse_journal_events` returns it.
        where: file and line number, for error messages.

    Raises:
        DocumentError: a key is missing or malformed; the message names the key.
    """
    return decode(_ENTRIES[event["event"]], event, file=where, strict=False)
