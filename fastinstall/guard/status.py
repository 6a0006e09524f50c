"""The start-up guard of a stack: its state as `guard status` tells it, its events, its files and its cost.

- Events are what the guard reported, one JSON line each; reading changes nothing.
- The guard's files are moved into site-packages and out of it by a transaction.
- Its cost is measured in the target's own interpreter, each time in a fresh process that does what `site` does for our
  `.pth` and times that alone: the difference of two whole starts would drown in noise. The few microseconds at the end
  of a process are not measured.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.core import foreign, process
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts, GuardCost, GuardEvent, PinState
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.observe.guard_files import GUARD_ENTRIES, GUARD_PACKAGE, entries_present, render_state, stage_guard


@immutable
class Guards:
    """What guards a stack.

    Attributes:
        installed: the start-up guard is there.
        version: its version; empty if it is not.
        problems: what is wrong with it.
        installed_by: the fastinstall that set it up ("fastinstall 0.6.0"); empty if nothing is set up.
        installed_at: when that was, ISO 8601, UTC; empty likewise.
        package: conda's guard package ("fastinstall-guard-1-0"); empty if it is not there.
        pins: ours, of the environment and of its project.
        cost: what a start of Python takes longer, measured here; None if it was not, or could not be measured.
        events: what the start-up guard has told, the latest first.
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()
    installed_by: str = ""
    installed_at: str = ""
    package: str = ""
    pins: tuple[PinState, ...] = ()
    cost: GuardCost | None = None
    events: tuple[GuardEvent, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing of what is there has a problem."""
        return not self.problems and not any(pin.problems for pin in self.pins)


_FIELDS = ("at", "change", "tool", "stack", "found")


def read_events(prefix: Path, limit: int = 20) -> tuple[GuardEvent, ...]:
    """The last events, newest first; none if nothing was told, or nothing could be written down.

    A line that is not one of ours (a disk was full, somebody edited it) is passed over.

    Args:
        prefix: of the environment.
        limit: how many at most.
    """
    events = (event for name in (EVENTS, EVENTS_BEFORE) for event in _read_events_backwards(prefix / name))
    return tuple(event for event, _ in zip(events, range(limit), strict=False))


def _read_events_backwards(file: Path) -> Iterator[GuardEvent]:
    try:
        lines = foreign.read_bytes(file).splitlines()
    except OSError:
        return
    yield from filter(None, map(_parse_event, reversed(lines)))


def _parse_event(line: bytes) -> GuardEvent | None:
    try:
        data = json_data(line)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    words = {name: data.get(name, "") for name in _FIELDS}
    if not all(isinstance(word, str) for word in words.values()) or not words["at"] or not words["change"]:
        return None
    return GuardEvent(**words)


def renew_guard_files(store: JournalStore, facts: Facts, receipt: Receipt, transaction: Transaction) -> None:
    """Write them for the stack of a receipt, compiled for the target's Python, and move them in.

    Raises:
        CommandError: the target's interpreter could not compile them; the caller undoes.
    """
    site_packages = Path(facts.interpreter.site_packages)
    state = render_state(site_packages, receipt.core, receipt.stack_version)
    stage_guard(transaction.stage, state, Path(facts.interpreter.executable))
    present = entries_present(site_packages)
    moves = []
    for name in GUARD_ENTRIES:
        kind = MoveKind.EXCHANGE if name in present else MoveKind.IN
        moves.append(Move(kind=kind, live=store.relative(site_packages / name), kept=f"stage/{name}"))
    transaction.perform(moves)


def list_guard_removal_moves(store: JournalStore, site_packages: Path) -> Sequence[Move]:
    """The moves that take away what of them is there."""
    # The hooks go before the package that they name, so that no start of Python meets one without the other.
    return [
        Move(kind=MoveKind.OUT, live=store.relative(site_packages / name), kept=f"aside/{name}")
        for name in reversed(entries_present(site_packages))
    ]


_SCRIPT = """
import os, site, sys
from time import perf_counter_ns
directory, name, package = sys.argv[1:]
sys.path.append(directory)
known = set(sys.path)
os.environ.pop("FASTINSTALL_GUARD", None)
if sys.version_info >= (3, 15):
    def begin(): __import__(package).start()
else:
    def begin(): site.addpackage(directory, name, known)
before = perf_counter_ns()
begin()
begin()  # site reads the directory of a virtual environment twice
after = perf_counter_ns()
print(after - before if package in sys.modules else "")
"""
_MOST_SECONDS = 10.0
_TIMED_INSIDE = 3  # for each whole start that is timed from outside: that is long, and needs fewer


def measure_cost(python: Path, site_packages: Path, starts: int = 20) -> GuardCost | None:
    """Time what the guard does at a start of an interpreter.

    Args:
        python: the target's interpreter.
        site_packages: of the target, where the guard lies.
        starts: how many processes to time.

    Returns:
        None if the guard does not start, or the interpreter does not.
    """
    timed: list[int] = []
    whole: list[float] = []
    try:
        for number in range(starts):
            timed.append(_time_guard_start(python, site_packages))
            if number % _TIMED_INSIDE == 0:
                whole.append(_time_whole_start(python))
    except (process.CommandError, ValueError):
        return None
    if not timed:
        return None
    import statistics  # noqa: PLC0415 (only where something was timed)

    median_us = statistics.median(timed) / 1000
    return GuardCost(median_us=median_us, start_ms=statistics.median(whole) * 1000 - median_us / 1000, starts=starts)


def _time_guard_start(python: Path, site_packages: Path) -> int:
    argv = (python, "-I", "-S", "-c", _SCRIPT, site_packages, GUARD_ENTRIES[1], GUARD_PACKAGE)
    return int(process.run(argv, timeout=_MOST_SECONDS).stdout)


def _time_whole_start(python: Path) -> float:
    before = time.perf_counter()
    process.run((python, "-I", "-c", "pass"), timeout=_MOST_SECONDS)
    return time.perf_counter() - before
