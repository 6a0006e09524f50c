"""Every disk that a death would leave behind: a run is looked at before each of its changes.

SIGKILL leaves the filesystem exactly as it is at that moment, so one run that is looked at tells what a thousand runs
would leave that are killed one boundary later each. What a death does beyond that is for `deaths`.
"""

import fcntl
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from faults.doors import FORCES, Boundary, Side, watched
from faults.forked import Ended, forked
from faults.trees import Entry, Pool, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A disk that a death would leave.

    Attributes:
        boundary: that the process would die at; None for the end.
        tree: all that a run may change (`Scene.live`).
        numbers: inodes of what may be moved, by path.
        torn: the process would die in the middle of a write.
    """

    boundary: Boundary | None
    tree: Tree
    numbers: Mapping[str, int]
    torn: bool = False

    def lay(self, pool: Pool, live: Path) -> None:
        """Have this disk again.

        Files that are laid out have other inodes than they had, by which an unfinished journal tells a tree from one
        with the same content. So they are told to it as they are now.
        """
        pool.lay(self.tree, live)
        for journal in live.glob("env/**/*.jsonl"):
            self._renumber(journal, live)

    def _renumber(self, journal: Path, live: Path) -> None:
        lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        if not any('"inodes":' in line for line in whole) or '"event":"committed"' in whole[-1]:
            return
        now = {number: (live / path).lstat().st_ino for path, number in self.numbers.items()}
        status = journal.stat()
        journal.write_text("".join(_renumbered(line, now) for line in lines), encoding="utf-8")
        os.utime(journal, ns=(status.st_atime_ns, status.st_mtime_ns))

    def __str__(self) -> str:
        """For people: the boundary."""
        return f"{'within ' if self.torn else ''}{self.boundary}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A run, and all that it could have left.

    Attributes:
        frames: in their order, each disk once; the last one is the end.
        boundaries: so many changes were passed.
        ended: what came of the run.
    """

    frames: tuple[Frame, ...]
    boundaries: int
    ended: Ended

    @property
    def before(self) -> Tree:
        """The disk before its first change."""
        return self.frames[0].tree

    @property
    def after(self) -> Tree:
        """The disk at its end."""
        return self.frames[-1].tree


def everything(_boundary: Boundary) -> bool:
    """Look at every boundary."""
    return True


def beside_the_stage(boundary: Boundary) -> bool:
    """Look at all boundaries but those of what is unpacked on a stage, where nobody looks until it is announced."""
    return not any("/stage/" in path for path in boundary.paths) or boundary.call in _MOVES


_MOVES = frozenset({"rename", "exchange", "start"})


def film(
    work: Callable[[], int], live: Path, pool: Path, *, looked_at: Callable[[Boundary], bool] = everything
) -> Film:
    """Run something in a process of its own, and look at every disk that its death would leave.

    Args:
        work: returns its exit code.
        live: all that it may change.
        pool: for the contents.
        looked_at: before which boundaries to look.
    """
    kept = pool.with_name(f"{pool.name}.frames")
    kept.unlink(missing_ok=True)

    def watch() -> int:
        camera = _Camera(live, Pool(pool), looked_at)
        with watched(camera, within=[live]):
            code = work()
        camera.look(None)
        with kept.open("wb") as stream:
            pickle.dump((camera.frames, camera.boundaries), stream, protocol=pickle.HIGHEST_PROTOCOL)
        return code

    ended = forked(watch)
    assert kept.exists(), ended.text
    frames, boundaries = pickle.loads(kept.read_bytes())  # noqa: S301 (written by this program)
    return Film(frames=tuple(frames), boundaries=boundaries, ended=ended)


def _renumbered(line: str, now: Mapping[int, int]) -> str:
    if '"inodes":' not in line or not line.endswith("\n"):
        return line
    document = json.loads(line)
    document["inodes"] = [now.get(number, _NOWHERE) if number else 0 for number in document["inodes"]]
    return json.dumps(document, separators=(",", ":")) + "\n"


_NOWHERE = 1
"""No file's inode."""

_MOVED_ABOUT = frozenset({"env", "site-packages", "conda-meta", "stage", "aside"})
"""Directories whose entries are moved."""


class _Camera:
    def __init__(self, live: Path, pool: Pool, looked_at: Callable[[Boundary], bool]) -> None:
        self._looked_at = looked_at
        self.frames: list[Frame] = []
        self.boundaries = 0
        self._live = live
        self._pool = pool
        self._touched: tuple[str, ...] = ()
        self._entries: dict[Entry, Entry] = {}
        self._shown: set[int] = set()
        self._numbers: dict[str, int] = {}

    def __call__(self, boundary: Boundary, side: Side, arguments: tuple[Any, ...]) -> None:
        if side is Side.AFTER or boundary.call in FORCES:
            return
        self.boundaries += 1
        if not self._looked_at(boundary):
            self._touched = (*self._touched, *boundary.paths)
            return
        self.look(boundary)
        if boundary.call == "write" and boundary.size > 1 and "/stage/" not in boundary.paths[0]:
            self._look_torn(boundary, arguments)

    def look(self, boundary: Boundary | None) -> None:
        """Take a picture."""
        tree = self._pool.read(self._live, self._touched)
        self._touched = boundary.paths if boundary is not None else ()
        numbers = self._pool.numbers.items()
        self._numbers = {path: number for path, number in numbers if PurePath(path).parent.name in _MOVED_ABOUT}
        self._keep(tree, boundary, always=boundary is None)

    def _look_torn(self, boundary: Boundary, arguments: tuple[Any, ...]) -> None:
        """What a death amid a write leaves: half of it, at the place where it was to go."""
        path = os.path.relpath(boundary.paths[0], self._live)
        tree = dict(self.frames[-1].tree)
        descriptor, content = arguments[0], bytes(arguments[1])
        if path not in tree:
            return
        there = self._pool.content(tree[path])
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        if _appends(descriptor):
            place = len(there)
        half = content[: len(content) // 2]
        tree[path] = self._pool.keep(there[:place] + half + there[place + len(half) :], tree[path])
        self._keep(tree, boundary, torn=True)

    def _keep(self, tree: Tree, boundary: Boundary | None, *, torn: bool = False, always: bool = False) -> None:
        """One of each; entries that are equal are one object, which thousands of trees share."""
        shared = {path: self._entries.setdefault(entry, entry) for path, entry in tree.items()}
        digest = hash(frozenset(shared.items()))
        if digest not in self._shown or always:
            self._shown.add(digest)
            self.frames.append(Frame(boundary=boundary, tree=shared, numbers=self._numbers, torn=torn))


def _appends(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)


def distinct(frames: tuple[Frame, ...], of: Callable[[Tree], Tree]) -> Iterator[tuple[Frame, Tree]]:
    """The first frame for each different part of the disk."""
    shown: set[frozenset[tuple[str, Entry]]] = set()
    for frame in frames:
        part = of(frame.tree)
        key = frozenset(part.items())
        if key not in shown:
            shown.add(key)
            yield frame, part
