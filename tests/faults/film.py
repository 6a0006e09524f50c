"""Records every state that a kill would leave on disk, by reading a directory before each change in one run.

SIGKILL leaves the filesystem as it is at that moment. So one recorded run shows the states that a thousand runs would
leave, each killed one boundary later than the run before. Other effects of a kill are tested with `deaths`.
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
    """The state that a kill would leave on disk.

    Attributes:
        boundary: the boundary at which the process would be killed; None for the end of the run.
        tree: the files that a run may change (all below `Scene.live`).
        numbers: inode numbers of entries that may be moved, by path.
        torn: whether the kill would interrupt a write.
    """

    boundary: Boundary | None
    tree: Tree
    numbers: Mapping[str, int]
    torn: bool = False

    def lay(self, pool: Pool, live: Path) -> None:
        """Restore this state on disk.

        Restored files get new inode numbers. Unfinished journals list inode numbers; these are replaced by the new
        ones.
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
        """Return the boundary as text."""
        return f"{'within ' if self.torn else ''}{self.boundary}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A run, and all disk states that a kill could leave.

    Attributes:
        frames: the distinct states in order; the last one is the end of the run.
        boundaries: number of changes in the run.
        ended: the result of the run.
    """

    frames: tuple[Frame, ...]
    boundaries: int
    ended: Ended

    @property
    def before(self) -> Tree:
        """The files before the first change."""
        return self.frames[0].tree

    @property
    def after(self) -> Tree:
        """The files after the run."""
        return self.frames[-1].tree


def everything(_boundary: Boundary) -> bool:
    """Select every boundary."""
    return True


def beside_the_stage(boundary: Boundary) -> bool:
    """Select all boundaries except writing in the staging directory: its files are unused until moves are announced."""
    return not any("/stage/" in path for path in boundary.paths) or boundary.call in _MOVES


_MOVES = frozenset({"rename", "exchange", "start"})


def film(
    work: Callable[[], int], live: Path, pool: Path, *, looked_at: Callable[[Boundary], bool] = everything
) -> Film:
    """Run a function in its own process, and record every state that a kill of it would leave on disk.

    Args:
        work: the function; it returns its exit code.
        live: the directory with all files that the function may change.
        pool: directory for the contents of files.
        looked_at: selects the boundaries before which the state is recorded.
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
"""A number that is no file's inode."""

_MOVED_ABOUT = frozenset({"env", "site-packages", "conda-meta", "stage", "aside"})
"""Directories whose entries are moved by fastinstall."""


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
        """Record the current state; `boundary` is the next change, None at the end of the run."""
        tree = self._pool.read(self._live, self._touched)
        self._touched = boundary.paths if boundary is not None else ()
        numbers = self._pool.numbers.items()
        self._numbers = {path: number for path, number in numbers if PurePath(path).parent.name in _MOVED_ABOUT}
        self._keep(tree, boundary, always=boundary is None)

    def _look_torn(self, boundary: Boundary, arguments: tuple[Any, ...]) -> None:
        """Record the state after a kill during a write: only the first half of the bytes is written."""
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
        """Keep a state if it is new, or `always`. Thousands of trees share their equal entries, which saves memory."""
        shared = {path: self._entries.setdefault(entry, entry) for path, entry in tree.items()}
        digest = hash(frozenset(shared.items()))
        if digest not in self._shown or always:
            self._shown.add(digest)
            self.frames.append(Frame(boundary=boundary, tree=shared, numbers=self._numbers, torn=torn))


def _appends(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)


def distinct(frames: tuple[Frame, ...], of: Callable[[Tree], Tree]) -> Iterator[tuple[Frame, Tree]]:
    """Yield the frames in which `of(tree)` has a value that no earlier frame had, together with that value."""
    shown: set[frozenset[tuple[str, Entry]]] = set()
    for frame in frames:
        part = of(frame.tree)
        key = frozenset(part.items())
        if key not in shown:
            shown.add(key)
            yield frame, part
