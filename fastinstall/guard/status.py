"""The start-up guard of a stack: its state as `guard status` tells it, its events and its files.

- Events are what the guard reported, one JSON line each; reading changes nothing.
- The guard's files are moved into site-packages and out of it by a transaction.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.guard.staged_files import stage_guard
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts, GuardEvent, PinState
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.observe.guard_files import entries_present, render_state


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
        events: what the start-up guard has told, the latest first.
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()
    installed_by: str = ""
    installed_at: str = ""
    package: str = ""
    pins: tuple[PinState, ...] = ()
    events: tuple[GuardEvent, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing of what is there has a problem."""
        return not self.problems and not any(pin.problems for pin in self.pins)


def read_events(prefix: Path, limit: int = 20) -> tuple[GuardEvent, ...]:
    """Read the last events, newest first; none if nothing was told, or nothing could be written down.

    A line that is not one of ours (a disk was full, somebody edited it) is passed over.

    Args:
        prefix: root of the environment whose log is read.
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


def renew_guard_files(
    store: JournalStore, facts: Facts, receipt: Receipt, transaction: Transaction, program: str
) -> None:
    """Write them for the stack of a receipt, compiled for the target's Python, and move them in.

    Args:
        store: of the environment.
        facts: what was observed of it.
        receipt: of the setup that put the stack there.
        transaction: takes the moves.
        program: how fastinstall was called, for the guard's hint.

    Raises:
        CommandError: the target's interpreter could not compile them; the caller undoes.
    """
    site_packages = facts.interpreter.site_packages
    state = render_state(site_packages, receipt.core, receipt.stack_version, program)
    coming = stage_guard(transaction.stage, state, facts.interpreter.executable, facts.interpreter.version)
    present = entries_present(site_packages)
    kinds = {name: MoveKind.EXCHANGE if name in present else MoveKind.IN for name in coming}
    lives = {name: store.relative(site_packages / name) for name in (*coming, *present)}
    leaving = [
        Move(kind=MoveKind.OUT, live=lives[name], kept=f"aside/{name}") for name in present if name not in coming
    ]
    arriving = [Move(kind=kinds[name], live=lives[name], kept=f"stage/{name}") for name in kinds]
    transaction.perform([*arriving, *leaving])


def list_guard_removal_moves(store: JournalStore, site_packages: Path) -> Sequence[Move]:
    """List the moves that take away what of them is there."""
    # The hooks go before the package that they name, so that no start of Python meets one without the other.
    return [
        Move(kind=MoveKind.OUT, live=store.relative(site_packages / name), kept=f"aside/{name}")
        for name in reversed(entries_present(site_packages))
    ]
