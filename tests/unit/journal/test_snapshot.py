"""The journal summary for doctor agrees with the journals read in full."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.journal.entries import (
    _ENTRIES,
    Committed,
    Committing,
    Entry,
    Moved,
    TransactionBegun,
    Undoing,
    format_entry_line,
)
from fastinstall.journal.events import EVENTS
from fastinstall.journal.layout import JOURNAL, TRANSACTIONS
from fastinstall.journal.snapshot import find_unfinished_transaction, read_environment_history
from fastinstall.journal.store import JournalStore

BEGUN = TransactionBegun(
    id="",
    at="2026-11-21T10:15:00Z",
    sequence=1,
    work="work",
    created=(),
    directories=(),
    verb="setup",
    tool_version="0.1.0",
    home="",
)
LATER: tuple[Entry, ...] = (
    Moved(window_ns=9),
    Committing(replaces=False),
    Committed(at="2026-11-21T10:16:00Z"),
    Undoing(reason="rollback"),
)


def _begun(name: str, **changes: Any) -> TransactionBegun:
    return replace(BEGUN, id=name, work=f"{TRANSACTIONS}/{name}", **changes)


def _write(prefix: Path, name: str, text: str) -> None:
    file = prefix / TRANSACTIONS / name / JOURNAL
    file.parent.mkdir(parents=True)
    file.write_text(text)


def _journal(*entries: Entry) -> str:
    return "".join(f"{format_entry_line(entry)}\n" for entry in entries)


def _both(prefix: Path) -> tuple[str | None, str | None]:
    whole = JournalStore(prefix).unfinished()
    return find_unfinished_transaction(
        read_environment_history(prefix, sized=False)
    ), whole.id if whole is not None else None


def test_however_a_transaction_ended_both_say_the_same(tmp_path: Path) -> None:
    endings = [ending for length in range(len(LATER) + 1) for ending in combinations(LATER, length)]
    seen = set()
    for number, ending in enumerate(endings):
        _write(tmp_path / str(number), "one", _journal(_begun("one"), *ending))
        glanced, whole = _both(tmp_path / str(number))
        assert glanced == whole, ending
        seen.add(glanced)
    assert seen == {None, "one"}


def test_the_newest_journal_by_number_counts_whatever_its_name(tmp_path: Path) -> None:
    for name, sequence in (("c", 1), ("a", 3), ("b", 2)):
        _write(tmp_path, name, _journal(_begun(name, sequence=sequence)))
    assert _both(tmp_path) == ("a", "a")


def test_a_line_that_death_tore_was_never_written(tmp_path: Path) -> None:
    _write(tmp_path, "one", _journal(_begun("one")) + format_entry_line(LATER[2])[:-3])
    assert _both(tmp_path) == ("one", "one")


def test_where_nothing_of_ours_lies_nothing_is_unfinished(tmp_path: Path) -> None:
    (tmp_path / TRANSACTIONS / "emptied").mkdir(parents=True)
    assert _both(tmp_path) == (None, None)


@pytest.mark.parametrize("text", ["", "{\n", "[]\n", '{"event": 3}\n', '{"event": "committed"}\n'])
def test_a_malformed_journal_is_named_by_both(tmp_path: Path, text: str) -> None:
    _write(tmp_path, "one", text)
    with pytest.raises(DocumentError, match=JOURNAL) as caught:
        JournalStore(tmp_path).unfinished()
    assert "rollback --forget one" in str(caught.value.hint)
    history = read_environment_history(tmp_path, sized=False)
    assert [(each.transaction, each.is_later) for each in history.unreadable] == [("one", False)]
    assert history.interruptions == ()


@pytest.mark.parametrize(
    "line", ['{"event": "linking", "paths": []}', format_entry_line(replace(BEGUN, schema="fastinstall.journal/2"))]
)
def test_both_readers_recognise_an_entry_of_a_later_version(tmp_path: Path, line: str) -> None:
    first = "" if '"begun"' in line else _journal(_begun("one", tool_version="7.1"))
    _write(tmp_path, "one", f"{first}{line}\n")
    with pytest.raises(LaterDocumentError, match="which this version cannot read"):
        JournalStore(tmp_path).unfinished()
    (found,) = read_environment_history(tmp_path, sized=False).unreadable
    assert (found.is_later, found.writer) == (True, "7.1" if first else "0.1.0")


def test_a_key_that_nobody_knows_is_passed_over_by_both(tmp_path: Path) -> None:
    known = json.loads(format_entry_line(_begun("one")))
    _write(tmp_path, "one", json.dumps({**known, "host": "gpu-7"}) + "\n")
    assert _both(tmp_path) == ("one", "one")


def test_a_transaction_without_journal_is_reported_unless_empty(tmp_path: Path) -> None:
    for name in ("emptied", "torn"):
        (tmp_path / TRANSACTIONS / name).mkdir(parents=True)
    (tmp_path / TRANSACTIONS / "torn" / "aside").mkdir()
    (tmp_path / TRANSACTIONS / "torn" / "aside" / "PIL.py").touch()
    assert [each.transaction for each in read_environment_history(tmp_path, sized=False).unreadable] == ["torn"]
    assert [each.transaction for each in JournalStore(tmp_path).unreadable()] == ["torn"]


def test_both_know_the_same_events() -> None:
    assert tuple(_ENTRIES) == EVENTS
