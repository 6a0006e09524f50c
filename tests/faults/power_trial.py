"""The trial of a verb: its log is taken once, and all that a power failure may leave of it is recovered for real."""

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
"""Recovers what lies in a directory, and says what it finds ("before", "after"); raises where something is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How much of it is tried.

    Attributes:
        every: one of so many points, and the end always.
        first: the point to start with.
        random: so many disks of each point at random, beside the extremes.
        limit: so many disks of each point, evenly chosen; 0 for all.
    """

    every: int = 1
    first: int = 0
    random: int = 0
    limit: int = 0


@dataclass(slots=True, kw_only=True)
class Outcomes:
    """What became of the disks.

    Attributes:
        found: how often each was found, among disks that differ.
        ended: what was found after the verb had said that it is done.
        lost: of each failure after which something was lost, what.
        disks: how many were possible, alike or not.
    """

    found: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    disks: int = 0

    def note(self, top: Path, judge: Judge, name: str, *, ended: bool) -> None:
        """Have a disk judged, and count it."""
        try:
            verdict = judge(top)
        except Exception as error:  # noqa: BLE001 (whatever goes wrong after a power failure is a loss)
            self.lost.append(f"{name}: {type(error).__name__}: {error}")
            return
        self.found[verdict] += 1
        if ended:
            self.ended[verdict] += 1

    def __str__(self) -> str:
        """For people: the figures, and the first losses."""
        figures = ", ".join(f"{name} {number}" for name, number in sorted(self.found.items()))
        return "\n".join(
            (f"{self.disks} disks; of the different ones: {figures}; lost {len(self.lost)}", *self.lost[:5])
        )


def record(top: Path, work: Callable[[], object]) -> Recording:
    """Do something below a directory and remember every operation."""
    recorder = Recorder(top)
    with watched(recorder, within=[top]):
        work()
    return recorder.recording


def try_all(recording: Recording, scenery: Path, judge: Judge, sample: Sample) -> Outcomes:
    """Let the power fail wherever it may.

    Args:
        recording: of the verb.
        scenery: a directory in memory, for the disks.
        judge: recovers and looks; it is given a directory that stands for the one that was recorded.
        sample: how much of it.
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
    """The paths where the model, with all operations carried out, is not what lies in the directory."""
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
