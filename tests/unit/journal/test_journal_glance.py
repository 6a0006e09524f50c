"""What doctor asks of journals by a glance is what reading them whole tells."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from fastinstall.errors import DocumentError
from fastinstall.journal.entries import Begun, Committed, Committing, Entry, Moved, Undoing, to_line
from fastinstall.journal.glance import unfinished_transaction
from fastinstall.journal.layout import JOURNAL, TRANSACTIONS
from fastinstall.journal.store import Store

BEGUN = Begun(id="", at="2026-11-21T10:15:00Z", sequence=1, work="work", created=(), directories=())
LATER: tuple[Entry, ...] = (
    Moved(window_ns=9),
    Committing(replaces=False),
    Committed(at="2026-11-21T10:16:00Z"),
    Undoing(reason="rollback"),
)


def _write(prefix: Path, name: str, text: str) -> None:
    file = prefix / TRANSACTIONS / name / JOURNAL
    file.parent.mkdir(parents=True)
    file.write_text(text)


def _journal(*entries: Entry) -> str:
    return "".join(f"{to_line(entry)}\n" for entry in entries)


def _both(prefix: Path) -> tuple[str | None, str | None]:
    whole = Store(prefix).unfinished()
    return unfinished_transaction(prefix), whole.id if whole is not None else None


def test_however_a_transaction_ended_both_say_the_same(tmp_path: Path) -> None:
    endings = [ending for length in range(len(LATER) + 1) for ending in combinations(LATER, length)]
    seen = set()
    for number, ending in enumerate(endings):
        _write(tmp_path / str(number), "one", _journal(replace(BEGUN, id="one"), *ending))
        glanced, whole = _both(tmp_path / str(number))
        assert glanced == whole, ending
        seen.add(glanced)
    assert seen == {None, "one"}


def test_of_several_the_newest_by_number_counts_whatever_its_name(tmp_path: Path) -> None:
    for name, sequence in (("c", 1), ("a", 3), ("b", 2)):
        _write(tmp_path, name, _journal(replace(BEGUN, id=name, sequence=sequence)))
    assert _both(tmp_path) == ("a", "a")


def test_a_line_that_death_tore_was_never_written(tmp_path: Path) -> None:
    _write(tmp_path, "one", _journal(replace(BEGUN, id="one")) + to_line(LATER[2])[:-3])
    assert _both(tmp_path) == ("one", "one")


def test_where_nothing_of_ours_lies_nothing_is_unfinished(tmp_path: Path) -> None:
    (tmp_path / TRANSACTIONS / "emptied").mkdir(parents=True)
    assert _both(tmp_path) == (None, None)


@pytest.mark.parametrize("text", ["", "{\n", "[]\n", '{"event": 3}\n', '{"event": "committed"}\n'])
def test_a_malformed_journal_is_named_by_both(tmp_path: Path, text: str) -> None:
    _write(tmp_path, "one", text)
    for read in (unfinished_transaction, lambda prefix: Store(prefix).unfinished()):
        with pytest.raises(DocumentError, match=JOURNAL):
            read(tmp_path)
