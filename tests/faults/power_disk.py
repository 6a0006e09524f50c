"""What a disk holds, as inodes, and the changes that lead from one content to the next.

Names are entries of directories and point to inodes, as in a file system: what was not yet forced to the disk moves
with its inode when it is renamed, and has as many names as it has links.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

Place = tuple[int, str]
"""An entry: the inode of its directory, and its name."""

TOP = 0
"""The inode of the directory that is looked at."""


class Kind(StrEnum):
    """Of an inode."""

    DIRECTORY = "directory"
    FILE = "file"
    LINK = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inode:
    """A file, directory or symbolic link without its name.

    Attributes:
        kind: which of them.
        mode: permission bits.
        mtime_ns: its modification time.
        content: of a file; of a link its target.
        number: that the kernel gave it when it was recorded.
    """

    kind: Kind
    mode: int
    mtime_ns: int
    content: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """An entry appears: of a fresh inode, or one more of an old one."""

    at: Place
    node: int
    made: Inode | None


@dataclass(frozen=True, slots=True)
class Remove:
    """An entry disappears."""

    at: Place


@dataclass(frozen=True, slots=True)
class Rename:
    """An entry gets another place, over whatever is there; in one step, as every journalling file system does it."""

    source: Place
    target: Place
    node: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two entries change places in one step; `nodes` is what stood there before."""

    one: Place
    other: Place
    nodes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """Mode and modification time are set."""

    node: int
    mode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes are put into a file at an offset; as from then it was modified at `mtime_ns`."""

    node: int
    offset: int
    data: bytes
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Resize:
    """A file is cut or extended."""

    node: int
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """fsync(2): of a file its data and metadata, of a directory its entries."""

    node: int


Entrywise = Create | Remove | Rename | Exchange
Datawise = Write | Resize
Operation = Entrywise | Change | Datawise | Sync


def places(operation: Operation) -> tuple[Place, ...]:
    """The entries that an operation changes."""
    match operation:
        case Create(at=at) | Remove(at=at):
            return (at,)
        case Rename(source=one, target=other) | Exchange(one=one, other=other):
            return one, other
        case _:
            return ()


def owner(operation: Operation) -> int | None:
    """The inode that an operation changes in itself; None of operations on entries."""
    return operation.node if isinstance(operation, Change | Write | Resize) else None


@dataclass(slots=True)
class Disk:
    """Inodes, and which names lead to them.

    Attributes:
        inodes: by our own numbers; those that no name leads to are lost.
        entries: of each directory.
    """

    inodes: dict[int, Inode] = field(default_factory=dict)
    entries: dict[int, dict[str, int]] = field(default_factory=dict)

    def copy(self) -> "Disk":
        """One that can be changed apart."""
        return Disk(dict(self.inodes), {node: dict(names) for node, names in self.entries.items()})

    def find(self, parts: Iterable[str]) -> int | None:
        """Where a path leads, from the top."""
        node: int | None = TOP
        for part in parts:
            node = self.entries.get(node, {}).get(part) if node is not None else None
        return node

    def apply(self, operation: Operation) -> None:
        """Carry out one operation; of inodes that were never made it changes nothing."""
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
