"""The lines of a journal as values; `journal.log` interprets them together.

All paths are relative to the environment's prefix, so that an environment that was moved or copied whole can still be
undone.

While another program changes the environment, one entry announces that before it begins, and another records what it
did.
"""

import json

from fastinstall.core.codec import decode, encode
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.journal.remembered_directories import Directory
from fastinstall.model.move import Move
from fastinstall.model.stored_documents import refuse_other_schema


@immutable
class ExternalChange:
    """What another program is going to do.

    Attributes:
        copies: files that it takes away or overwrites; those that are not there count as appearing.
        appearing: files that it brings; those that are there already are copied too.
        own_places: patterns of `Path.glob` for places of its alone, such as drafts: whatever appears there is its.
    """

    copies: tuple[str, ...]
    appearing: tuple[str, ...]
    own_places: tuple[str, ...] = ()


@immutable
class Copied:
    """A file or symbolic link as it was before; its copy's name is its place in the list.

    Attributes:
        path: where the file stands in the environment.
        digest: of its content, as `fingerprints.digest_entry` has it.
        mode: its permission bits, without the type of the file.
        mtime_ns: its modification time, nanoseconds since the epoch.
    """

    path: str
    digest: str
    mode: int
    mtime_ns: int


@immutable
class ExternalChangeBegun:
    """Another program is about to change the environment.

    Attributes:
        area: holds the copies, relative to the transaction's `work`; it is gone once the external change is undone.
        copies: what was copied, in the order of the copies' numbers.
        appearing: what may come, and was not there.
        own_places: patterns of places of the program's alone; see `ExternalChange`.
        records: names of the files in `conda-meta` that describe packages.
        created: directories that are not there, and that what comes may need, outermost first.
        directories: that are there, and whose entries may change, outermost first.
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
        """All that is announced."""
        return frozenset((*(copied.path for copied in self.copies), *self.appearing))


@immutable
class ExternalChangeEnded:
    """The external change announced last has ended, well or not.

    Attributes:
        manifest: what it brought or changed: path to digest.
        untouched: paths that were copied, and that it left as they were.
        removed: directories that it took away.
    """

    manifest: dict[str, str]
    untouched: tuple[str, ...]
    removed: tuple[str, ...]


SCHEMA = "fastinstall.journal/1"


@immutable
class TreeDirectory:
    """A directory of a tree that is moved file by file.

    Attributes:
        path: relative to the top of the tree; "." for the top itself.
        mode: its permission bits, without the type of the file.
        mtime_ns: its modification time, nanoseconds since the epoch.
    """

    path: str
    mode: int
    mtime_ns: int


@immutable
class TransactionBegun:
    """A transaction began.

    Attributes:
        id: its time and a token: "20261121T101500Z-3fa2c1".
        at: when it began, ISO 8601, UTC.
        sequence: 1 for the first of an environment, and so on; the order that undoing follows.
        work: where its `stage` and `aside` lie.
        created: directories of ours that did not exist, outermost first.
        directories: those whose entries change, as they were.
        verb: what was called ("guard remove"), for as long as no directory holds the plan.
        tool_version: of the fastinstall that writes the journal.
        home: the prefix in hexadecimal, which no program finds that replaces it in texts, as `conda create --clone`
            does.
        schema: of the journal. An event that undoing has to heed and that today's readers do not know bears a name
            that they refuse; whatever changes what today's events mean takes another number.
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
    schema: str = SCHEMA


@immutable
class Moving:
    """These moves are about to happen, in this order.

    Attributes:
        moves: which entries move, and how, in order.
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
class MovingTree:
    """A tree that cannot be renamed as a whole is about to be moved file by file.

    Attributes:
        source: the top of the tree, relative to the prefix.
        target: where it goes, relative to the prefix.
        directories: its directories, outermost first.
    """

    source: str
    target: str
    directories: tuple[TreeDirectory, ...]


@immutable
class MovedTree:
    """The tree announced last has been moved."""


@immutable
class Adding:
    """Text is about to be added to a file that is not ours alone.

    Attributes:
        path: of the file, relative to the prefix.
        text: what is added, byte for byte in UTF-8.
        size: of the file before, in bytes; -1 where it was not there.
        sha256: of its content before, hexadecimal.
        mtime_ns: its modification time before.
        draft: where the file is written before it takes its place.
        directories: the one whose entries change.
        place: where it goes, in bytes from the start of the file; -1 for the end.
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
        replaces: whether there is an earlier one.
    """

    replaces: bool


@immutable
class Committed:
    """The transaction holds: from here on only a rollback undoes it."""

    at: str


@immutable
class Conceding:
    """What another program has put in our place stays when this is undone.

    Attributes:
        paths: of moves that are not undone; what stood there before is kept for people.
        areas: of external changes that are not undone.
        dropped: where ours goes, and what stood there before is kept likewise: it would contradict theirs.
    """

    paths: tuple[str, ...]
    areas: tuple[str, ...]
    dropped: tuple[str, ...] = ()


@immutable
class Undoing:
    """Undoing began, and has to be brought to its end."""

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
    """Format one line of JSON in ASCII; names that are not UTF-8 survive as escaped surrogates."""
    return json.dumps({"event": _EVENTS[type(entry)], **encode(entry)}, separators=(",", ":"))


def parse_entry_line(line: str, *, where: str, version: str = "") -> Entry:
    """Read one line. Keys that nobody knows here are passed over: a later fastinstall may have added them.

    Args:
        line: one line of a journal, without its newline.
        where: its file and number, for messages.
        version: of the fastinstall that wrote it; empty if that is not known.

    Raises:
        LaterDocumentError: its event, or the schema that it begins, is not known here.
        DocumentError: it is malformed; names the key.
    """
    try:
        data = json_data(line)
    except ValueError as error:
        raise DocumentError(where, "", f"not JSON: {error}") from None
    event = data.get("event") if isinstance(data, dict) else None
    if not isinstance(event, str):
        raise DocumentError(where, "event", f"expected one of {', '.join(_ENTRIES)}")
    if event == _EVENTS[TransactionBegun]:
        refuse_other_schema("journal", data.get("schema"), file=where, version=str(data.get("tool_version", "")))
    if event not in _ENTRIES:
        raise LaterDocumentError(where, "event", f"expected one of {', '.join(_ENTRIES)}", version=version)
    return decode(_ENTRIES[data.pop("event")], data, file=where, strict=False)
