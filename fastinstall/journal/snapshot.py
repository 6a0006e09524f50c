"""Summarize an environment's transactions quickly: finished, interrupted and unreadable ones.

Only the first line of a journal and the names of its events are interpreted, which is enough for doctor. Undo reads
journals completely, as `entries`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.journal.creation_note import creation_interruption
from fastinstall.journal.layout import JOURNAL, LOOSE, PLAN, RECEIPT, ROOT, SHARE, TRANSACTIONS, split_whole_lines
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.strays import is_stray, list_strays
from fastinstall.model.history import EnvironmentHistory, Interruption, UnfinishedRun, Unreadable
from fastinstall.model.stored_documents import refuse_other_schema

EVENTS = frozenset(
    {
        *("begun", "moving", "moved", "moving-tree", "moved-tree", "external-change-begun", "external-change-ended"),
        *("adding", "committing", "committed", "conceding", "undoing"),
    }
)
"""Names of all journal events that this version knows; `entries` has a class for each."""

_BEGUN, _COMMITTED, _UNDOING = "begun", "committed", "undoing"


def read_environment_history(prefix: Path, *, sized: bool) -> EnvironmentHistory:
    """Summarize an environment's transactions; unreadable files are part of the result, not exceptions.

    Args:
        prefix: the environment's prefix.
        sized: also measure how many bytes of disk space the committed transactions occupy.
    """
    summaries = sorted(_summarize_journals(prefix), key=lambda each: each.sequence, reverse=True)
    holding = tuple(each for each in summaries if each.is_readable and each.holds)
    making = creation_interruption(prefix)
    leftovers = (*find_loose_interruptions(prefix), *find_stray_interruptions(prefix))
    interruptions = (*_list_unfinished(summaries), *leftovers, *((making,) if making is not None else ()))
    return EnvironmentHistory(
        interruptions=interruptions if interruptions and not is_at_work(prefix) else (),
        unreadable=(*_describe_damaged_journals(summaries), *_find_unreadable_receipt(prefix)),
        setups=tuple(each.id for each in holding),
        held_bytes=_measure_held_bytes(holding) if sized else None,
    )


def _measure_held_bytes(holding: "Iterable[_JournalSummary]") -> int:
    from fastinstall.journal.disk_space import measure_freed_bytes  # noqa: PLC0415 (not needed by a quick examination)

    return measure_freed_bytes(path for each in holding for path in {each.file.parent, each.work})


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
    """Return the title of the transaction in a directory; an empty title if its plan cannot be read."""
    try:
        plan = json_data(foreign.read_bytes(directory / PLAN))
    except (OSError, ValueError):
        return Title()
    if not isinstance(plan, dict):
        return Title()
    return Title(verb=find_verb(plan), stack=_find_stack(plan))


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
    """Return whether a running fastinstall holds the environment's lock, so that its transaction is not interrupted."""
    from fastinstall.core.lock import LOCK_FILE, find_holder  # noqa: PLC0415 (needed only after an interruption)

    for locked in (prefix / LOCK_FILE, prefix):
        with suppress(OSError):
            if find_holder(locked.stat()) is not None:
                return True
    return False


def unreadable(error: DocumentError, file: Path, transaction: str = "") -> Unreadable:
    """Return the description of a document that cannot be read.

    Args:
        error: the error that reading it raised.
        file: path of the document.
        transaction: identifier of the transaction that the document belongs to; empty if it belongs to none.
    """
    later = isinstance(error, LaterDocumentError)
    return Unreadable(
        file=file,
        problem=error.message,
        transaction=transaction,
        writer=error.version if isinstance(error, LaterDocumentError) else "",
        is_later=later,
    )


@immutable
class _JournalSummary:
    """The facts of a transaction that doctor needs; if the journal cannot be read, `error` says why."""

    file: Path
    id: str
    work: Path
    at: str = ""
    verb: str = ""
    sequence: int = 0
    events: frozenset[str] = frozenset()
    error: DocumentError | None = None

    @property
    def is_readable(self) -> bool:
        return self.error is None

    @property
    def holds(self) -> bool:
        return _COMMITTED in self.events and _UNDOING not in self.events


def _summarize_journals(prefix: Path) -> Iterator[_JournalSummary]:
    directory = prefix / TRANSACTIONS
    if directory.is_dir():
        yield from (_summarize_journal(each / JOURNAL) for each in directory.iterdir() if each.is_dir())


def _summarize_journal(file: Path) -> _JournalSummary:
    name = file.parent.name
    try:
        events = _read_events(file)
        begun = events[0] if events else {}
        if begun.get("event") != _BEGUN or not isinstance(begun.get("sequence"), int):
            raise DocumentError(f"{file}:1", "event", f"expected {_BEGUN!r}")  # noqa: TRY301 (handled like other errors)
    except DocumentError as error:
        return _JournalSummary(file=file, id=name, work=file.parent, error=error)
    return _JournalSummary(
        file=file,
        id=str(begun.get("id", name)),
        work=_locate_workplace(file, str(begun.get("work", ""))),
        at=str(begun.get("at", "")),
        verb=str(begun.get("verb", "")),
        sequence=begun["sequence"],
        events=frozenset(event["event"] for event in events),
    )


def _locate_workplace(file: Path, work: str) -> Path:
    """Return the directory that contains the transaction's `stage` and `aside`.

    Args:
        file: path of the journal.
        work: the directory that the journal records, relative to the prefix; empty for the journal's own directory.
    """
    prefix = file.parents[len(Path(TRANSACTIONS).parts) + 1]
    return prefix / work if work else file.parent


def _read_events(file: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a journal as JSON objects.

    Raises:
        DocumentError: the journal cannot be read, or a line is malformed or of a later fastinstall.
    """
    try:
        lines = split_whole_lines(foreign.read_text(file, errors="surrogateescape"))
    except OSError as error:
        raise DocumentError(file, "", f"cannot be read: {error.strerror}") from error
    events = [_parse_event(line, f"{file}:{number}") for number, line in enumerate(lines, start=1)]
    refuse_later(events, file)
    return events


def sequence_in(file: Path) -> int | None:
    """Return the sequence number in the first line of a journal, or None if it cannot be read."""
    try:
        line = foreign.read_text(file, errors="surrogateescape").partition("\n")[0]
        sequence = _parse_event(line, f"{file}:1").get("sequence")
    except (OSError, DocumentError):
        return None
    return sequence if isinstance(sequence, int) else None


def refuse_later(events: Iterable[dict[str, Any]], file: Path) -> None:
    """Raise if a later fastinstall wrote a journal in a form that this version does not know.

    Args:
        events: the lines as JSON objects; the first has the schema and the version that wrote the journal.
        file: path of the journal, for error messages.

    Raises:
        LaterDocumentError: the schema is later than ours, or an event is unknown.
    """
    version = ""
    for number, event in enumerate(events, start=1):
        if number == 1:
            version = str(event.get("tool_version", ""))
            refuse_other_schema("journal", event.get("schema"), file=f"{file}:1", version=version)
        if event["event"] not in EVENTS:
            raise LaterDocumentError(f"{file}:{number}", "event", f"{event['event']!r} is not known", version=version)


def _parse_event(line: str, where: str) -> dict[str, Any]:
    try:
        data = json_data(line)
    except ValueError as error:
        raise DocumentError(where, "", f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise DocumentError(where, "event", "expected the name of an event")
    return data


def _list_unfinished(summaries: Iterable[_JournalSummary]) -> Iterator[Interruption]:
    for each in summaries:
        if each.is_readable and not each.holds:
            kind = UnfinishedRun.ROLLBACK if _COMMITTED in each.events else UnfinishedRun.SETUP
            verb = title_of(each.file.parent).verb
            yield Interruption(kind=kind, verb=verb, at=each.at, file=each.file, id=each.id)


def find_loose_interruptions(prefix: Path) -> Iterator[Interruption]:
    """Yield an interruption for each transaction whose process died while making or removing its directories."""
    for file in find_loose_journals(prefix):
        summary = _summarize_journal(file)
        kind = UnfinishedRun.CLEANUP if {_COMMITTED, _UNDOING} & summary.events else UnfinishedRun.PREPARATION
        found = re.fullmatch(LOOSE, file.name)
        yield Interruption(kind=kind, verb=summary.verb, at=summary.at, file=file, id=found[1] if found else summary.id)


def find_stray_interruptions(prefix: Path) -> Iterator[Interruption]:
    """Yield an interruption for each stray, a transaction's directory that a Python process made again (`strays`)."""
    for directory in list_strays(prefix):
        begun = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-", directory.name)
        at = "{}-{}-{}T{}:{}:{}Z".format(*begun.groups()) if begun else ""
        yield Interruption(kind=UnfinishedRun.CLEANUP, verb="", at=at, file=directory, id=directory.name)


def find_loose_journals(prefix: Path) -> Iterator[Path]:
    """Yield journals of transactions whose directories are incomplete; see `transaction_directories`."""
    for path in (".", SHARE, ROOT):
        directory = prefix / path
        if directory.is_dir():
            yield from (path for path in directory.iterdir() if re.fullmatch(LOOSE, path.name))


def _describe_damaged_journals(summaries: Iterable[_JournalSummary]) -> Iterator[Unreadable]:
    """Yield a description of each damaged or missing journal; strays are left out, since they never have one."""
    for each in summaries:
        if each.error is not None and not is_stray(each.file.parent):
            yield unreadable(each.error, each.file, each.id)


def _find_unreadable_receipt(prefix: Path) -> Iterator[Unreadable]:
    try:
        read_receipt(prefix)
    except DocumentError as error:
        yield unreadable(error, prefix / RECEIPT)


def _find_stack(plan: dict[str, Any]) -> str:
    build = plan.get("build")
    parts = (build.get("distribution"), build.get("version")) if isinstance(build, dict) else ()
    return " ".join(part for part in parts if isinstance(part, str))
