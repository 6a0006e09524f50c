"""Read the guards of a stack for `guard status`, and renew or remove the files of the start-up guard.

- Events are the start-up guard's reports, one line of JSON each. This module only reads them.
- The guard's files are moved into and out of site-packages by a transaction.
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
from fastinstall.model.facts import Facts
from fastinstall.model.guards import GuardEvent, PinState
from fastinstall.model.history import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.observe.guard_files import entries_present, render_state


@immutable
class Guards:
    """The guards and pins of a stack.

    Attributes:
        installed: whether the start-up guard is installed.
        version: version of the start-up guard; empty if it is not installed.
        problems: problems of the start-up guard, and settings of this shell that hide a pin from pip.
        installed_by: name and version of the tool that set the stack up ("fastinstall 0.6.0"); empty without a setup.
        installed_at: time of that setup, ISO 8601, UTC; empty without a setup.
        package: conda's guard package ("fastinstall-guard-1-0"); empty if it is not installed.
        pins: fastinstall's pins of the environment and of its project.
        events: reports of the start-up guard, newest first.
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
        """Whether the installed guards and pins have no problem."""
        return not self.problems and not any(pin.problems for pin in self.pins)


def read_events(prefix: Path, limit: int = 20) -> tuple[GuardEvent, ...]:
    """Return the latest events, newest first; empty if the guard reported nothing, or could not write its reports.

    Malformed lines are skipped: the disk may have been full, or somebody may have edited the file.

    Args:
        prefix: root of the environment.
        limit: maximum number of events.
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
    """Write the guard's files for a receipt's stack, compile them for the target's Python, move them to site-packages.

    Args:
        store: the environment's store.
        facts: facts of the environment.
        receipt: receipt of the setup that installed the stack.
        transaction: the transaction that performs the moves.
        program: the command by which fastinstall was called, for the guard's hint.

    Raises:
        CommandError: the target's interpreter could not compile the files, and the caller must undo.
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
    """Return the moves that remove the guard's existing files."""
    # A hook is removed before the package that it imports, so that Python never runs a hook whose package is missing.
    return [
        Move(kind=MoveKind.OUT, live=store.relative(site_packages / name), kept=f"aside/{name}")
        for name in reversed(entries_present(site_packages))
    ]
