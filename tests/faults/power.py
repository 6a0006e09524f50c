"""Computes the states that a power failure may leave on disk, from the calls and fsyncs of a process.

Two rules. Under the *ordered* rule, changes of entries, modes and times reach the disk in order, and an fsync of any
file forces all changes before it. ext4 and XFS do so. Under the *strict* rule, which is all that POSIX promises, an
fsync forces only the changes of its own inode (for a directory: of its entries). The other changes reach the disk in
any order, or not at all; only changes of the same name keep their order. Under both rules, unforced data may be
complete, missing, cut off or zeros, because of delayed allocation and reordered blocks.

Any state that a failure between two fsyncs may leave is also possible just before the second fsync, with more pending
operations missing. So it is enough to try the moments before each fsync, and the end. A rename is one step.

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
    """The assumption about the operations that an fsync makes durable."""

    ORDERED = "ordered"
    STRICT = "strict"


class Data(StrEnum):
    """The state of data that was not forced to the disk."""

    WHOLE = "whole"
    NONE = "none"
    TORN = "torn"
    ZEROS = "zeros"
    HOLE = "hole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One possible result of a power failure.

    Attributes:
        point: number of operations before the failure.
        rule: the rule under which this result is possible.
        missing: numbers of the operations on entries, modes and times that did not reach the disk.
        data: the state of unforced data, for all files except those in `but`.
        but: inodes whose unforced data is entirely missing.
    """

    point: int
    rule: Rule = Rule.ORDERED
    missing: frozenset[int] = frozenset()
    data: Data = Data.WHOLE
    but: frozenset[int] = frozenset()


class Log:
    """A recording that tells which operations were durable at a given moment.

    Args:
        recording: the recorded operations.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.operations = recording.operations

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The moments that represent all others: before every fsync that forces something, and the end."""
        syncs = [number for number, each in enumerate(self.operations) if isinstance(each, Sync)]
        return tuple(dict.fromkeys((*syncs, len(self.operations))))

    def pending(self, point: int, rule: Rule) -> tuple[int, ...]:
        """List operations on entries, modes and times that may be missing on the disk after a failure at this point."""
        done = range(point)
        forced = self._forced(point) if rule is Rule.STRICT else frozenset()
        if rule is Rule.ORDERED:
            last = max((n for n in done if isinstance(self.operations[n], Sync)), default=-1)
            return tuple(n for n in range(last + 1, point) if _is_metadata(self.operations[n]))
        return tuple(n for n in done if _is_metadata(self.operations[n]) and n not in forced)

    def unforced(self, point: int) -> dict[int, tuple[int, ...]]:
        """Return the operations on data that no fsync has forced before this point, by inode."""
        found: dict[int, list[int]] = {}
        for number, each in enumerate(self.operations[:point]):
            if isinstance(each, Write | Resize):
                found.setdefault(each.node, []).append(number)
            elif isinstance(each, Sync):
                found.pop(each.node, None)
        return {node: tuple(numbers) for node, numbers in found.items()}

    def disk(self, failure: Failure) -> Disk:
        """Return the disk after a failure."""
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
        """Return the operations that fsyncs forced before this point, and earlier operations on the same names."""
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
    """Yield possible failures at one point.

    Under the ordered rule, yield all failures; under the strict rule, the extreme ones and `samples` random ones.
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
    chance = random.Random(seed * 1_000_003 + point)  # noqa: S311 (reproducible; no secret)
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
    """Yield sets of lost operations: one operation and its dependants; or all but one operation and its conditions."""
    for each in pending:
        yield _with_dependants(operations, pending, (each,))
        yield frozenset(pending) - _with_conditions(operations, pending, each)


def _with_dependants(operations: Sequence[Operation], pending: Sequence[int], lost: Iterable[int]) -> frozenset[int]:
    """Return the lost operations and their dependants: later operations on the same names are lost, too."""
    missing, touched = set(lost), set[Place]()
    for number in pending:
        there = places(operations[number])
        if number in missing or touched.intersection(there):
            missing.add(number)
            touched.update(there)
    return frozenset(missing)


def _with_conditions(operations: Sequence[Operation], pending: Sequence[int], arrived: int) -> frozenset[int]:
    """Return the operation `arrived` and its conditions: earlier operations on the same names have arrived, too."""
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
    """Yield the parts of an unforced operation on data that reached the disk."""
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
