"""Tests a verb against power failures: the verb is recorded once, and recovery runs on every disk that may result."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fastinstall.core import files
from faults.doors import watched
from faults.power import Failure, Log, failures
from faults.power_disk import Disk, Kind
from faults.power_record import Recorder, Recording, paths_of
from faults.power_tree import identity, materialise

Judge = Callable[[Path], str]
"""Recovers a directory and returns its state ("before", "after"); raises an exception if anything is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The power failures to try, out of all possible ones.

    Attributes:
        every: only every n-th point is tried; the end is always tried.
        first: index of the first point.
        random: number of random disks per point under the strict rule, in addition to the extreme ones.
        limit: the most disks to try per point, evenly chosen; 0 for all.
    """

    every: int = 1
    first: int = 0
    random: int = 0
    limit: int = 0


@dataclass(slots=True, kw_only=True)
class Outcomes:
    """The results of recovery on all disks that were tried.

    Attributes:
        found: number of distinct disks, by the state in which recovery left them.
        ended: the same counts, but only for failures after the verb's end.
        lost: descriptions of failures after which something was lost.
        disks: number of all disks, including equal ones, of which only one is tried.
    """

    found: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    disks: int = 0

    def note(self, top: Path, judge: Judge, name: str, *, ended: bool) -> None:
        """Judge a disk and count the result."""
        try:
            verdict = judge(top)
        except Exception as error:  # noqa: BLE001 (after a power failure, any exception is a loss)
            self.lost.append(f"{name}: {type(error).__name__}: {error}")
            return
        self.found[verdict] += 1
        if ended:
            self.ended[verdict] += 1

    def __str__(self) -> str:
        """Return the counts and the first losses as text."""
        figures = ", ".join(f"{name} {number}" for name, number in sorted(self.found.items()))
        return "\n".join(
            (f"{self.disks} disks; of the different ones: {figures}; lost {len(self.lost)}", *self.lost[:5])
        )


def record(top: Path, work: Callable[[], object]) -> Recording:
    """Run a function, and record every operation below a directory."""
    recorder = Recorder(top)
    with watched(recorder, within=[top]):
        work()
    return recorder.recording


def try_all(recording: Recording, scenery: Path, judge: Judge, sample: Sample) -> Outcomes:
    """Try all power failures that the sample selects.

    Args:
        recording: the operations of the verb.
        scenery: a directory in memory, for the disks.
        judge: recovers a directory that a failure would leave, and judges it.
        sample: the failures to try.
    """
    log, outcomes = Log(recording), Outcomes()
    seen: set[tuple[str, bool]] = set()
    for failure in _chosen(log, sample):
        disk, ended = log.disk(failure), failure.point == len(log.operations)
        outcomes.disks += 1
        key = identity(disk), ended
        if key not in seen:
            seen.add(key)
            top = scenery / f"disk-{len(seen)}"
            materialise(disk, top)
            outcomes.note(top, judge, _named(log, failure), ended=ended)
            files.discard(top)
    return outcomes


def difference(recording: Recording, top: Path) -> set[str]:
    """Return paths that differ between the real directory and the modelled disk after all operations."""
    disk = Log(recording).disk(Failure(point=len(recording.operations)))
    modelled = {path: _content(disk, node) for path, node in paths_of(disk)}
    found = (path.relative_to(top).as_posix() for path in top.rglob("*"))
    return modelled.keys() ^ set(found) | {path for path, content in modelled.items() if content != _read(top / path)}


def _chosen(log: Log, sample: Sample) -> Iterator[Failure]:
    for point in dict.fromkeys((*log.points[sample.first :: sample.every], log.points[-1])):
        found = tuple(failures(log, point, samples=sample.random))
        step = -(-len(found) // sample.limit) if sample.limit else 1
        yield from found[::step]


def _named(log: Log, failure: Failure) -> str:
    sites = (*log.recording.sites, "the end")
    missing = ", ".join(dict.fromkeys(sites[number] for number in sorted(failure.missing)))
    return f"{failure.rule}, at {failure.point} ({sites[failure.point]}), data {failure.data}, without {missing or '-'}"


def _content(disk: Disk, node: int) -> bytes | None:
    inode = disk.inodes[node]
    return None if inode.kind is Kind.DIRECTORY else inode.content


def _read(path: Path) -> bytes | None:
    if path.is_symlink():
        return bytes(path.readlink())
    return path.read_bytes() if path.is_file() else None
