"""The content of a disk as inodes, and the operations that change it.

Names are entries of directories and point to inodes, as in a file system. So unforced data stays with its inode through
a rename, and an inode has a name for each hard link.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

Place = tuple[int, str]
"""An entry: the inode of its directory, and its name."""

TOP = 0
"""The inode of the directory that is recorded."""


class Kind(StrEnum):
    """The type of an inode."""

    DIRECTORY = "directory"
    FILE = "file"
    LINK = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inode:
    """The content and metadata of a file, directory or symbolic link, without its name.

    Attributes:
        kind: file, directory or link.
        mode: permission bits.
        mtime_ns: modification time.
        content: content of a file, or target of a link.
        number: the kernel's inode number at the time of recording.
    """

    kind: Kind
    mode: int
    mtime_ns: int
    content: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """Add an entry: for a new inode, or as another link to an existing inode if `made` is None."""

    at: Place
    node: int
    made: Inode | None


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove an entry."""

    at: Place


@dataclass(frozen=True, slots=True)
class Rename:
    """Move an entry and replace the target in one step, as every journalling file system does."""

    source: Place
    target: Place
    node: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Exchange two entries in one step; `nodes` are the inodes of the two before the exchange."""

    one: Place
    other: Place
    nodes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """Set mode and modification time."""

    node: int
    mode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Write:
    """Write bytes into a file at an offset; its modification time becomes `mtime_ns`."""

    node: int
    offset: int
    data: bytes
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Resize:
    """Truncate or extend a file."""

    node: int
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """Run fsync(2), which forces a file's data and metadata, or a directory's entries."""

    node: int


Entrywise = Create | Remove | Rename | Exchange
Datawise = Write | Resize
Operation = Entrywise | Change | Datawise | Sync


def places(operation: Operation) -> tuple[Place, ...]:
    """Return the entries that an operation changes."""
    match operation:
        case Create(at=at) | Remove(at=at):
            return (at,)
        case Rename(source=one, target=other) | Exchange(one=one, other=other):
            return one, other
        case _:
            return ()


def owner(operation: Operation) -> int | None:
    """Return the inode that an operation changes; None for operations on entries, and for fsyncs."""
    return operation.node if isinstance(operation, Change | Write | Resize) else None


@dataclass(slots=True)
class Disk:
    """Inodes, and the names that point to them.

    Attributes:
        inodes: inodes by numbers of our own; an inode that no entry names is lost.
        entries: each directory's names and the inodes that they point to.
    """

    inodes: dict[int, Inode] = field(default_factory=dict)
    entries: dict[int, dict[str, int]] = field(default_factory=dict)

    def copy(self) -> "Disk":
        """Return an independent copy."""
        return Disk(dict(self.inodes), {node: dict(names) for node, names in self.entries.items()})

    def find(self, parts: Iterable[str]) -> int | None:
        """Return the number of the inode at a path below the top; None if there is no such path."""
        node: int | None = TOP
        for part in parts:
            node = self.entries.get(node, {}).get(part) if node is not None else None
        return node

    def apply(self, operation: Operation) -> None:
        """Carry out one operation; operations on inodes that do not exist change nothing."""
        match operation:
            case Create(at=at, node=node, made=made):
                self._make(node, made)
                self._put(at, node)
            case Remove(at=at):
                self.entries.get(at[0], {}).pop(at[1], None)
            case Rename(source=source, target=target, node=node):
                self.apply(Remove(source))
                self._put(target, node)
            case Exchange(one=one, other=other, nodes=(first, second)):
                self._put(one, second)
                self._put(other, first)
            case _:
                self._alter(operation)

    def _make(self, node: int, made: Inode | None) -> None:
        if made is not None and node not in self.inodes:
            self.inodes[node] = made
            if made.kind is Kind.DIRECTORY:
                self.entries[node] = {}

    def _put(self, at: Place, node: int) -> None:
        self.entries.setdefault(at[0], {})[at[1]] = node

    def _alter(self, operation: Operation) -> None:
        old = self.inodes.get(owner(operation) or TOP)
        match operation:
            case Change(node=node, mode=mode, mtime_ns=mtime_ns) if old is not None:
                self.inodes[node] = replace(old, mode=mode, mtime_ns=mtime_ns)
            case Write(node=node, offset=offset, data=data, mtime_ns=mtime_ns) if old is not None:
                content = old.content.ljust(offset, b"\0")
                content = content[:offset] + data + content[offset + len(data) :]
                self.inodes[node] = replace(old, content=content, mtime_ns=mtime_ns)
            case Resize(node=node, size=size) if old is not None:
                self.inodes[node] = replace(old, content=old.content[:size].ljust(size, b"\0"))
            case _:
                pass
