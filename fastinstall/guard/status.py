"""The start-up guard of a stack: its state as `guard status` tells it, its events, its files and its cost.

- Events are what the guard reported, one JSON line each; reading changes nothing.
- The guard's files are moved into site-packages and out of it by a transaction.
- Its cost is measured in the target's own interpreter, each time in a fresh process that does what `site` does for our
  `.pth` and times that alone: the difference of two whole starts would drown in noise. The few microseconds at the end
  of a process are not measured.
"""

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from fastinstall.core import foreign, process
from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts
from fastinstall.model.guard_state import GuardCost, GuardEvent
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.pin_state import PinState
from fastinstall.model.receipt import Receipt
from fastinstall.observe.guard_files import GUARD_ENTRIES, GUARD_PACKAGE, entries_present, render_state, stage_guard


@immutable
class Guards:
    """What guards a stack.

    Attributes:
        installed: the start-up guard is there.
        version: its version; empty if it is not.
        problems: what is wrong with it, and where this shell hides a pin from pip.
        installed_by: the fastinstall that set it up ("fastinstall 0.6.0"); empty if nothing is set up.
        installed_at: when that was, ISO 8601, UTC; empty likewise.
        package: conda's guard package ("fastinstall-guard-1-0"); empty if it is not there.
        pins: ours, of the environment and of its project.
        cost: what a start of Python takes longer, measured here; None if it was not, or could not be measured.
        events: what the start-up guard has told, the latest first.
        diff: with `guard remove`: what takes the pin of an earlier fastinstall out of the project; empty for nothing.
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
    diff: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing of what is there has a problem."""
        return not self.problems and not any(pin.problems for pin in self.pins)


def read_events(prefix: Path, limit: int = 20) -> tuple[GuardEvent, ...]:
    """The last events, newest first; none if nothing was told, or nothing could be written down.

    A line that is not one of ours (a disk was full, somebody edited it) is passed over.

    Args:
        prefix: of the environment.
        limit: how many at most.
    """
    files = (foreign.bytes_or_empty(prefix / name) for name in (EVENTS, EVENTS_BEFORE))
    events = (_parse_event(line) for content in files for line in reversed(content.splitlines()))
    return tuple(islice(filter(None, events), limit))


def _parse_event(line: bytes) -> GuardEvent | None:
    try:
        event = decode(GuardEvent, json_data(line), file=EVENTS, strict=False)
    except (ValueError, DocumentError):
        return None
    return event if event.at and event.change else None


def renew_guard_files(store: JournalStore, facts: Facts, receipt: Receipt, transaction: Transaction) -> None:
    """Write them for the stack of a receipt, compiled for the target's Python, and move them in.

    Raises:
        CommandError: the target's interpreter could not compile them; the caller undoes.
    """
    site_packages = Path(facts.interpreter.site_packages)
    state = render_state(site_packages, receipt.core, receipt.stack_version)
    stage_guard(transaction.stage, state, Path(facts.interpreter.executable))
    present = entries_present(site_packages)
    kinds = {name: MoveKind.EXCHANGE if name in present else MoveKind.IN for name in GUARD_ENTRIES}
    transaction.perform(
        [
            Move(kind=kind, live=store.relative(site_packages / name), kept=f"stage/{name}")
            for name, kind in kinds.items()
        ]
    )


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
    from statistics import median  # noqa: PLC0415 (only where something is timed)

    try:
        median_us = median(_time_guard_start(python, site_packages) for _ in range(starts)) / 1000
        whole_ms = median(_time_whole_start(python) for _ in range(0, starts, _TIMED_INSIDE)) * 1000
    except (process.CommandError, ValueError):
        return None
    return GuardCost(median_us=median_us, start_ms=whole_ms - median_us / 1000, starts=starts)


def _time_guard_start(python: Path, site_packages: Path) -> int:
    argv = (python, "-I", "-S", "-c", _SCRIPT, site_packages, GUARD_ENTRIES[1], GUARD_PACKAGE)
    return int(process.run(argv, timeout=_MOST_SECONDS).stdout)


def _time_whole_start(python: Path) -> float:
    before = time.perf_counter()
    process.run((python, "-I", "-c", "pass"), timeout=_MOST_SECONDS)
    return time.perf_counter() - before
