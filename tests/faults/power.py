"""Which disks a power failure may leave behind, told from what a process had done and had forced to the disk.

Two rules. By the *ordered* one operations on entries, modes and times reach the disk in their order, as a prefix, and
an fsync of anything takes all of those before it along: so do ext4 and XFS. By the *strict* one, which is all that
POSIX promises, an fsync takes along what belongs to that very inode (of a directory: its entries), and the rest
reaches the disk in any order, or not at all; only what happens to one and the same name happens in order. By both,
data of a file that was not forced may be there, missing, cut off, or read as zeros: delayed allocation, and blocks
that came before others.

A failure at any moment between two fsyncs leaves a disk that one just before the second may leave too, with more
pending operations that did not arrive; so these moments, and the end, stand for all. A rename is one step.

Sources: fsync(2), ext4(5) (data=ordered, delalloc, noauto_da_alloc); Pillai et al., "All File Systems Are Not Created
Equal", OSDI 2014 (ALICE); Mohan et al., "Finding Crash-Consistency Bugs with Bounded Black-Box Crash Testing",
OSDI 2018 (CrashMonkey).
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from faults.power_disk import Disk, Operation, Place, Resize, Sync, Write, owner, places
from faults.power_record import Recording


class Rule(StrEnum):
    """What is certain to be on the disk."""

    ORDERED = "ordered"
    STRICT = "strict"


class Data(StrEnum):
    """What became of data that was not forced to the disk."""

    WHOLE = "whole"
    NONE = "none"
    TORN = "torn"
    ZEROS = "zeros"
    HOLE = "hole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One way in which the power may fail.

    Attributes:
        point: so many operations had been called.
        rule: under which this disk is possible.
        missing: those of them, by their number, on entries, modes and times, that did not arrive.
        data: what became of the data that was not certain, of all files but those in `but`.
        but: inodes whose data is missing although that of others is not.
    """

    point: int
    rule: Rule = Rule.ORDERED
    missing: frozenset[int] = frozenset()
    data: Data = Data.WHOLE
    but: frozenset[int] = frozenset()


class Log:
    """A recording, and what of it was certain when.

    Args:
        recording: what was done.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.operations = recording.operations

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The moments that stand for all: before every fsync that makes something certain, and the end."""
        syncs = [number for number, each in enumerate(self.operations) if isinstance(each, Sync)]
        return tuple(dict.fromkeys((*syncs, len(self.operations))))

    def pending(self, point: int, rule: Rule) -> tuple[int, ...]:
        """Operations on entries, modes and times that are not certain to be on the disk."""
        done = range(point)
        forced = self._forced(point) if rule is Rule.STRICT else frozenset()
        if rule is Rule.ORDERED:
            last = max((n for n in done if isinstance(self.operations[n], Sync)), default=-1)
            return tuple(n for n in range(last + 1, point) if _is_metadata(self.operations[n]))
        return tuple(n for n in done if _is_metadata(self.operations[n]) and n not in forced)

    def unforced(self, point: int) -> dict[int, tuple[int, ...]]:
        """Of each inode whose data is not certain, the operations on it."""
        found: dict[int, list[int]] = {}
        for number, each in enumerate(self.operations[:point]):
            if isinstance(each, Write | Resize):
                found.setdefault(each.node, []).append(number)
            elif isinstance(each, Sync):
                found.pop(each.node, None)
        return {node: tuple(numbers) for node, numbers in found.items()}

    def disk(self, failure: Failure) -> Disk:
        """What is there after such a failure."""
        disk = self.recording.before.copy()
        unforced = self.unforced(failure.point)
        left_out = failure.missing | {number for numbers in unforced.values() for number in numbers}
        for number, each in enumerate(self.operations[: failure.point]):
            if number not in left_out:
                disk.apply(each)
            elif number not in failure.missing:
                data = Data.NONE if owner(each) in failure.but else failure.data
                for partial in _arrived(each, data, is_last=number == unforced[owner(each) or 0][-1]):
                    disk.apply(partial)
        return disk

    def _forced(self, point: int) -> frozenset[int]:
        """What an fsync took along, and what happened to the same names before that."""
        synced, touched, found = set[int](), set[Place](), set[int]()
        for number in reversed(range(point)):
            each = self.operations[number]
            if isinstance(each, Sync):
                synced.add(each.node)
                continue
            there = places(each)
            if not synced.isdisjoint({node for node, _ in there} or {owner(each)}) or touched.intersection(there):
                found.add(number)
                touched.update(there)
        return frozenset(found)


def failures(log: Log, point: int, *, samples: int = 0, seed: int = 0) -> Iterator[Failure]:
    """The ways in which the power may fail at one point.

    Every one under the ordered rule; under the strict one the extremes, and `samples` at random.
    """
    unforced = frozenset(log.unforced(point))
    for missing in _prefixes(log.pending(point, Rule.ORDERED)):
        yield from _with_data(point, Rule.ORDERED, missing, unforced)
    pending = log.pending(point, Rule.STRICT)
    extremes = (frozenset(pending), frozenset[int]())
    for missing in dict.fromkeys((*extremes, *_single(log.operations, pending))):
        yield Failure(point=point, rule=Rule.STRICT, missing=missing)
        if unforced and missing in extremes:
            yield from _with_data(point, Rule.STRICT, missing, unforced)
    chance = random.Random(seed * 1_000_003 + point)  # noqa: S311 (to be repeated, not to be secret)
    for _ in range(samples if pending or unforced else 0):
        missing = _with_dependants(log.operations, pending, (n for n in pending if chance.random() < chance.random()))
        but = frozenset(node for node in sorted(unforced) if chance.random() < 0.5)
        yield Failure(point=point, rule=Rule.STRICT, missing=missing, data=chance.choice(tuple(Data)), but=but)


def _with_data(point: int, rule: Rule, missing: frozenset[int], unforced: frozenset[int]) -> Iterator[Failure]:
    for data in Data if unforced else (Data.WHOLE,):
        yield Failure(point=point, rule=rule, missing=missing, data=data)
    for node in sorted(unforced) if len(unforced) > 1 and not missing else ():
        yield Failure(point=point, rule=rule, missing=missing, but=frozenset({node}))
        yield Failure(point=point, rule=rule, missing=missing, but=unforced - {node})


def _prefixes(pending: Sequence[int]) -> Iterator[frozenset[int]]:
    return (frozenset(pending[length:]) for length in range(len(pending) + 1))


def _single(operations: Sequence[Operation], pending: Sequence[int]) -> Iterator[frozenset[int]]:
    """All but one arrived, and only one did; with what is bound to it by a name."""
    for each in pending:
        yield _with_dependants(operations, pending, (each,))
        yield frozenset(pending) - _with_conditions(operations, pending, each)


def _with_dependants(operations: Sequence[Operation], pending: Sequence[int], lost: Iterable[int]) -> frozenset[int]:
    """What cannot have arrived without what is lost: later operations on the same names."""
    missing, touched = set(lost), set[Place]()
    for number in pending:
        there = places(operations[number])
        if number in missing or touched.intersection(there):
            missing.add(number)
            touched.update(there)
    return frozenset(missing)


def _with_conditions(operations: Sequence[Operation], pending: Sequence[int], arrived: int) -> frozenset[int]:
    """What must have arrived too: earlier operations on the same names."""
    found, touched = {arrived}, set(places(operations[arrived]))
    for number in reversed(tuple(each for each in pending if each < arrived)):
        there = places(operations[number])
        if touched.intersection(there):
            found.add(number)
            touched.update(there)
    return frozenset(found)


def _is_metadata(operation: Operation) -> bool:
    return not isinstance(operation, Write | Resize | Sync)


def _arrived(operation: Operation, data: Data, *, is_last: bool) -> Iterator[Operation]:
    """What of an uncertain operation on data is on the disk."""
    match operation, data:
        case _, Data.WHOLE:
            yield operation
        case Write(node=node, offset=offset, data=content, mtime_ns=mtime_ns), Data.TORN:
            yield Write(node, offset, content[: len(content) // 2] if is_last else content, mtime_ns)
        case Write(node=node, offset=offset, data=content, mtime_ns=mtime_ns), Data.ZEROS:
            yield Write(node, offset, bytes(len(content)), mtime_ns)
        case Write(node=node, offset=offset, data=content, mtime_ns=mtime_ns), Data.HOLE:
            yield Write(node, offset, bytes(len(content) // 2) + content[len(content) // 2 :], mtime_ns)
        case Resize(), Data.TORN | Data.ZEROS | Data.HOLE:
            yield operation
        case _:
            pass
