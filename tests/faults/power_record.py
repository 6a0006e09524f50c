"""Records a process's changes in a directory as operations on inodes, by a hook for `doors`.

Changes by other programs (such as a compiler of bytecode) are not intercepted. They are detected when the process
forces or renames the changed file, and recorded as if they had just happened.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.doors import Boundary, Side
from faults.power_disk import (
    TOP,
    Change,
    Create,
    Disk,
    Exchange,
    Inode,
    Kind,
    Operation,
    Place,
    Remove,
    Rename,
    Resize,
    Sync,
    Write,
)

_DESTINATION = {"copy_file_range": 1, "splice": 1}
_DATA = frozenset({"write", "writev", "copy_file_range", "sendfile", "splice"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The recorded operations.

    Attributes:
        before: the disk at the start, when everything on it is durable.
        operations: the operations, in order.
        sites: the function of fastinstall that caused each operation.
    """

    before: Disk
    operations: tuple[Operation, ...]
    sites: tuple[str, ...]


class Recorder:
    """A hook for `faults.doors.watched` that records what every call did.

    Args:
        top: the directory to record, not yet changed.
    """

    def __init__(self, top: Path) -> None:
        self._top = Path(os.path.realpath(top))
        self._numbers = iter(range(1, 1_000_000))
        self._now = Disk(inodes={TOP: _look(self._top)}, entries={TOP: {}})
        self._operations: list[Operation] = []
        self._sites: list[str] = []
        self._site = ""
        self._note: Any = None
        self._adopt_below(TOP, self._top)
        self._before = self._now.copy()
        self._operations.clear()
        self._sites.clear()

    @property
    def recording(self) -> Recording:
        """All operations so far, after a check for changes by other programs."""
        self._reconcile(self._top)
        return Recording(before=self._before, operations=tuple(self._operations), sites=tuple(self._sites))

    @property
    def disk(self) -> Disk:
        """The disk as the process sees it."""
        return self._now

    def __call__(self, boundary: Boundary, side: Side, arguments: tuple[Any, ...]) -> None:
        """Read the disk before and after a call, and record the difference as operations."""
        self._site = (boundary.site or ("",))[-1]
        if side is Side.BEFORE:
            self._note = self._look_before(boundary, arguments)
        else:
            self._look_after(boundary, arguments)

    def _look_before(self, boundary: Boundary, arguments: tuple[Any, ...]) -> Any:
        call, paths = boundary.call, boundary.paths
        if call in ("rename", "replace", "exchange", "fsync", "fdatasync"):
            for path in paths:
                self._reconcile(Path(path), deep=call not in ("fsync", "fdatasync"))
        if call == "open":
            return os.path.lexists(paths[0])
        if call in _DATA:
            descriptor = arguments[_DESTINATION.get(call, 0)]
            appends = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
            return os.fstat(descriptor).st_size if appends else os.lseek(descriptor, 0, os.SEEK_CUR)
        return None

    def _look_after(self, boundary: Boundary, arguments: tuple[Any, ...]) -> None:
        call, paths = boundary.call, tuple(map(Path, boundary.paths))
        match call:
            case "open":
                self._opened(paths[0], arguments[1])
            case "mkdir" | "symlink" | "link" | "mkfifo":
                self._created(paths[-1], self._node(paths[0]) if call == "link" else None)
            case "unlink" | "remove" | "rmdir":
                self._remove(paths[0])
            case "rename" | "replace" | "exchange":
                self._moved(call, *paths)
            case "truncate" | "ftruncate":
                self._on(paths[0], lambda node: Resize(node, arguments[1]))
            case "chmod" | "fchmod" | "utime":
                self._on(paths[0], lambda node: _changed(node, paths[0]))
            case "fsync" | "fdatasync":
                self._on(paths[0], Sync)
            case _ if call in _DATA:
                self._wrote(paths[0], arguments[_DESTINATION.get(call, 0)])

    def _opened(self, path: Path, flags: int) -> None:
        if not self._note:
            self._created(path, None)
        elif flags & os.O_TRUNC:
            self._on(path, lambda node: Resize(node, 0))

    def _created(self, path: Path, old: int | None) -> None:
        place = self._place(path)
        if place is not None:
            made = _look(path, content=path.is_symlink()) if old is None else None
            self._do(Create(place, next(self._numbers) if old is None else old, made))

    def _remove(self, path: Path) -> None:
        place = self._place(path)
        if place is not None:
            self._do(Remove(place))

    def _moved(self, call: str, one: Path, other: Path) -> None:
        source, target = self._place(one), self._place(other)
        first, second = self._node(one), self._node(other)
        if source is None or target is None or first is None:
            for path in (one, other):
                self._reconcile(path)
        elif call == "exchange" and second is not None:
            self._do(Exchange(source, target, (first, second)))
        else:
            self._do(Rename(source, target, first))

    def _wrote(self, path: Path, descriptor: int) -> None:
        start, end = self._note, os.lseek(descriptor, 0, os.SEEK_CUR)
        with Path(f"/proc/self/fd/{descriptor}").open("rb") as stream:
            stream.seek(start)
            data = stream.read(end - start)
        modified = os.fstat(descriptor).st_mtime_ns
        self._on(path, lambda node: Write(node, start, data, modified))

    def _reconcile(self, path: Path, *, deep: bool = True) -> None:
        """Find and record changes by other programs at a path, and below it if `deep`."""
        node, place = self._node(path), self._place(path)
        if node is None:
            if place is not None and os.path.lexists(path):
                self._adopt(place, path)
        elif not os.path.lexists(path):
            self._remove(path)
        elif path.is_symlink():
            return
        elif path.is_dir():
            self._reconcile_names(node, path, deep=deep)
        elif path.is_file() and path.read_bytes() != self._now.inodes[node].content:
            content = path.read_bytes()
            self._do(Resize(node, len(content)))
            self._do(Write(node, 0, content, path.stat().st_mtime_ns))

    def _reconcile_names(self, node: int, path: Path, *, deep: bool) -> None:
        known, there = self._now.entries[node], {each.name for each in path.iterdir()}
        for name in sorted({*known, *there}):
            if deep or (name in known) != (name in there):
                self._reconcile(path / name)

    def _adopt(self, place: Place, path: Path) -> None:
        node = next(self._numbers)
        self._do(Create(place, node, _look(path, content=path.is_symlink())))
        if path.is_dir() and not path.is_symlink():
            self._adopt_below(node, path)
        elif path.is_file() and not path.is_symlink():
            self._do(Write(node, 0, path.read_bytes(), path.stat().st_mtime_ns))

    def _adopt_below(self, node: int, path: Path) -> None:
        for each in sorted(path.iterdir()):
            self._adopt((node, each.name), each)

    def _on(self, path: Path, operation: Any) -> None:
        node = self._node(path)
        if node is not None:
            self._do(operation(node))

    def _do(self, operation: Operation) -> None:
        self._operations.append(operation)
        self._sites.append(self._site)
        self._now.apply(operation)

    def _parts(self, path: Path) -> tuple[str, ...] | None:
        return path.relative_to(self._top).parts if path.is_relative_to(self._top) else None

    def _node(self, path: Path) -> int | None:
        parts = self._parts(path)
        return self._now.find(parts) if parts is not None else None

    def _place(self, path: Path) -> Place | None:
        parts = self._parts(path)
        directory = self._now.find(parts[:-1]) if parts else None
        return (directory, parts[-1]) if parts and directory is not None else None


def _look(path: Path, *, content: bool = False) -> Inode:
    status = path.lstat()
    kind = Kind.LINK if stat.S_ISLNK(status.st_mode) else Kind.FILE
    return Inode(
        kind=Kind.DIRECTORY if stat.S_ISDIR(status.st_mode) else kind,
        mode=stat.S_IMODE(status.st_mode),
        mtime_ns=status.st_mtime_ns,
        content=os.fsencode(path.readlink()) if content else b"",
        number=status.st_ino,
    )


def _changed(node: int, path: Path) -> Change:
    status = path.lstat()
    return Change(node, stat.S_IMODE(status.st_mode), status.st_mtime_ns)


def paths_of(disk: Disk, node: int = TOP, way: str = "") -> Iterator[tuple[str, int]]:
    """Yield every path and its inode, directories before their contents."""
    for name, inner in sorted(disk.entries.get(node, {}).items()):
        path = f"{way}{name}"
        yield path, inner
        yield from paths_of(disk, inner, f"{path}/")
