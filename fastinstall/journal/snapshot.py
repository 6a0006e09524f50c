"""Summarize an environment's transactions quickly: finished, interrupted and unreadable ones, and their disk space.

Only the first line of a journal and the names of its events are interpreted, which is enough for doctor. Undo reads
journals completely, as `entries`.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.values import immutable
from fastinstall.journal.creation_note import creation_interruption
from fastinstall.journal.events import read_journal_events
from fastinstall.journal.layout import JOURNAL, PLAN, RECEIPT, list_transaction_directories
from fastinstall.journal.leftovers import find_leftovers, is_stray
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.history import EnvironmentHistory, Interruption, UnfinishedRun, Unreadable

_BLOCK = 512
"""The unit of `st_blocks`; see stat(2)."""


def read_environment_history(prefix: Path, *, sized: bool) -> EnvironmentHistory:
    """Summarize an environment's transactions; unreadable files are part of the result, not exceptions.

    Args:
        prefix: the environment's prefix.
        sized: also measure how many bytes of disk space the committed transactions occupy.
    """
    summaries, unreadable = list[_JournalSummary](), list[Unreadable]()
    for directory in list_transaction_directories(prefix):
        try:
            summaries.append(_summarize_journal(prefix, directory / JOURNAL))
        except DocumentError as error:
            if not is_stray(directory):
                unreadable.append(describe_unreadable(error, directory / JOURNAL, directory.name))
    summaries.sort(key=lambda each: each.sequence, reverse=True)
    try:
        read_receipt(prefix)
    except DocumentError as error:
        unreadable.append(describe_unreadable(error, prefix / RECEIPT))
    holding = [each for each in summaries if each.is_holding]
    making = creation_interruption(prefix)
    unfinished = (_describe_interruption(each) for each in summaries if not each.is_holding)
    interruptions = (*unfinished, *find_leftovers(prefix), *((making,) if making is not None else ()))
    directories = (path for each in holding for path in {each.file.parent, each.work})
    return EnvironmentHistory(
        interruptions=interruptions if interruptions and not is_at_work(prefix) else (),
        unreadable=tuple(unreadable),
        setups=tuple(each.id for each in holding),
        held_bytes=measure_freed_bytes(directories) if sized else None,
    )


@immutable
class Title:
    """A short description of a transaction, from its plan.

    Attributes:
        verb: the command that was run ("setup", "guard install --pin"); empty if the plan does not say.
        stack: the installed stack ("pillow 13.0.0+simd.v2.v3"); empty if none was installed.
    """

    verb: str = ""
    stack: str = ""


def title_of(directory: Path) -> Title:
    """Return the title of the transaction in a directory; its fields are empty if the plan cannot be read."""
    plan = foreign.read_object(directory / PLAN)
    build = plan.get("build")
    parts = (build.get("distribution"), build.get("version")) if isinstance(build, dict) else ()
    return Title(verb=find_verb(plan), stack=" ".join(part for part in parts if isinstance(part, str)))


def find_verb(plan: Mapping[str, object]) -> str:
    """Return the command that a plan belongs to; empty if the plan does not say."""
    verb = plan.get("verb")
    return verb if isinstance(verb, str) else ""


def find_unfinished_transaction(history: EnvironmentHistory) -> str | None:
    """Return the identifier of the newest interrupted setup or rollback, or None if there is none."""
    kinds = (UnfinishedRun.SETUP, UnfinishedRun.ROLLBACK)
    unfinished = (each.id for each in history.interruptions if each.kind in kinds)
    return next(unfinished, None)


def is_at_work(prefix: Path) -> bool:
    """Return whether a running fastinstall holds the environment's lock: an open transaction is then still active."""
    from fastinstall.core.lock import LOCK_FILE, find_holder  # needed only after an interruption

    for locked in (prefix / LOCK_FILE, prefix):
        with suppress(OSError):
            if find_holder(locked.stat()) is not None:
                return True
    return False


def describe_unreadable(error: DocumentError, file: Path, transaction: str = "") -> Unreadable:
    """Return the description of a document that cannot be read.

    Args:
        error: the error that reading it raised.
        file: path of the document.
        transaction: identifier of the transaction that the document belongs to; empty if it belongs to none.
    """
    is_later = isinstance(error, LaterDocumentError)
    writer = error.version if isinstance(error, LaterDocumentError) else ""
    return Unreadable(file=file, problem=error.message, transaction=transaction, writer=writer, is_later=is_later)


def measure_freed_bytes(paths: Iterable[Path]) -> int:
    """Return how many bytes of disk space removing files and trees would free; missing paths count as 0.

    A file that has hard links outside these paths, as in a package cache, does not count: removing it frees nothing.
    """
    links: Counter[tuple[int, int]] = Counter()
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    directories = 0
    for status in (found for path in paths for found in _walk_statuses(path)):
        size = status.st_blocks * _BLOCK
        if stat.S_ISDIR(status.st_mode):
            directories += size
        else:
            links[status.st_dev, status.st_ino] += 1
            sizes[status.st_dev, status.st_ino] = (status.st_nlink, size)
    return directories + sum(size for key, (count, size) in sizes.items() if links[key] >= count)


def _walk_statuses(path: Path) -> Iterator[os.stat_result]:
    with suppress(OSError):
        yield path.lstat()
        if path.is_dir() and not path.is_symlink():
            for name in os.listdir(path):  # noqa: PTH208 (names, because the tree may be large)
                yield from _walk_statuses(path / name)


@immutable
class _JournalSummary:
    """The facts about one transaction that doctor needs."""

    file: Path
    id: str
    work: Path
    at: str
    sequence: int
    events: frozenset[str]

    @property
    def is_holding(self) -> bool:
        """Whether the transaction keeps files with which it can be undone."""
        return "committed" in self.events and "undoing" not in self.events


def _summarize_journal(prefix: Path, file: Path) -> _JournalSummary:
    events = read_journal_events(file)
    begun = events[0] if events else {}
    if begun.get("event") != "begun" or not isinstance(begun.get("sequence"), int):
        raise DocumentError(f"{file}:1", "event", "expected 'begun'")
    work = str(begun.get("work", ""))
    return _JournalSummary(
        file=file,
        id=str(begun.get("id", file.parent.name)),
        work=prefix / work if work else file.parent,
        at=str(begun.get("at", "")),
        sequence=begun["sequence"],
        events=frozenset(event["event"] for event in events),
    )


def _describe_interruption(summary: _JournalSummary) -> Interruption:
    kind = UnfinishedRun.ROLLBACK if "committed" in summary.events else UnfinishedRun.SETUP
    verb = title_of(summary.file.parent).verb
    return Interruption(kind=kind, verb=verb, at=summary.at, file=summary.file, id=summary.id)
