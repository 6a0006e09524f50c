"""Text that was added to another program's file can be removed again; nothing else in the file changes."""

import json
import os
from pathlib import Path

import pytest

from fastinstall.journal.additions import add, describe_addition, withdraw
from fastinstall.journal.entries import Adding, decode_entry
from fastinstall.journal.store import JournalStore

OURS = "==> today <==\n# cmd: ours\n"
BEFORE = "==> yesterday <==\n+python-3.11\n"
LATER = "==> tomorrow <==\n+puretool-1.0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conda-meta/history"
    path.parent.mkdir()
    path.write_text(BEFORE)
    path.chmod(0o640)
    os.utime(path, ns=(1, 1_600_000_000_000_000_000))
    return path


def test_an_addition_leaves_what_is_there_and_its_mode(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    add(store, describe_addition(store, "x", "conda-meta/history", OURS))
    assert file.read_text() == BEFORE + OURS
    assert file.stat().st_mode & 0o777 == 0o640


def test_withdrawn_it_is_as_before_to_the_byte_and_the_time(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    adding = describe_addition(store, "x", "conda-meta/history", OURS)
    add(store, adding)
    for _ in range(2):
        withdraw(store, adding)
        assert file.read_text() == BEFORE
        assert file.stat().st_mtime_ns == 1_600_000_000_000_000_000
    assert [path.name for path in file.parent.iterdir()] == ["history"]


def test_what_others_have_added_since_stays(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    adding = describe_addition(store, "x", "conda-meta/history", OURS)
    add(store, adding)
    file.write_text(BEFORE + OURS + LATER)
    withdraw(store, adding)
    assert file.read_text() == BEFORE + LATER


def test_in_a_file_that_was_rewritten_ours_is_found_or_let_be(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    adding = describe_addition(store, "x", "conda-meta/history", OURS)
    add(store, adding)
    file.write_text(LATER + OURS)
    withdraw(store, adding)
    assert file.read_text() == LATER
    withdraw(store, adding)
    assert file.read_text() == LATER


def test_a_created_file_is_removed_unless_others_wrote_to_it(tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    adding = describe_addition(store, "x", "conda-meta/pinned", OURS)
    add(store, adding)
    (tmp_path / "conda-meta/pinned").write_text(OURS + LATER)
    withdraw(store, adding)
    assert (tmp_path / "conda-meta/pinned").read_text() == LATER
    (tmp_path / "conda-meta/pinned").write_text(OURS)
    withdraw(store, adding)
    assert not (tmp_path / "conda-meta/pinned").exists()


def test_several_additions_to_one_file_are_withdrawn_together(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    first = describe_addition(store, "x", "conda-meta/history", OURS)
    add(store, first)
    second = describe_addition(store, "x", "conda-meta/history", LATER)
    add(store, second)
    withdraw(store, second)
    withdraw(store, first)
    assert file.read_text() == BEFORE


def test_death_before_the_replacement_leaves_no_draft_behind(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    adding = describe_addition(store, "x", "conda-meta/history", OURS)
    (tmp_path / adding.draft).write_text("half of i")
    withdraw(store, adding)
    assert file.read_text() == BEFORE
    assert [path.name for path in file.parent.iterdir()] == ["history"]


def test_what_was_never_added_is_not_taken_from_what_was_there(file: Path, tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    file.write_text(OURS)
    adding = describe_addition(store, "x", "conda-meta/history", OURS)
    withdraw(store, adding)
    assert file.read_text() == OURS


INI = "[global]\ntimeout = 30\n[install]\n# of theirs\nno-compile = true\n"
BLOCK = "# ours\nconstraint = /srv/c.txt\n# end of ours\n"
PLACE = INI.index("# of theirs")


@pytest.fixture
def placed(tmp_path: Path) -> tuple[JournalStore, Path, Adding]:
    """Return a store, another program's file with our text added in its middle, and the record of the addition."""
    file, store = tmp_path / "pip.conf", JournalStore(tmp_path)
    file.write_text(INI)
    adding = describe_addition(store, "x", "pip.conf", BLOCK, PLACE)
    add(store, adding)
    return store, file, adding


def test_text_goes_to_its_place_and_comes_out_to_the_byte(placed: tuple[JournalStore, Path, Adding]) -> None:
    store, file, adding = placed
    assert file.read_text() == INI[:PLACE] + BLOCK + INI[PLACE:]
    withdraw(store, adding)
    assert file.read_text() == INI


def test_it_is_found_where_others_have_written_before_it(placed: tuple[JournalStore, Path, Adding]) -> None:
    store, file, adding = placed
    file.write_text(file.read_text().replace("[global]\n", "[global]\nretries = 1\n"))
    withdraw(store, adding)
    assert file.read_text() == INI.replace("[global]\n", "[global]\nretries = 1\n")


def test_what_others_wrote_into_it_stays(placed: tuple[JournalStore, Path, Adding]) -> None:
    store, file, adding = placed
    file.write_text(file.read_text().replace("# end of ours", "pre = true\r\n# end of ours"))
    for _ in range(2):
        withdraw(store, adding)
        assert file.read_bytes() == (INI[:PLACE] + "pre = true\r\n" + INI[PLACE:]).encode()


def test_a_line_of_before_places_reads_as_one_for_the_end() -> None:
    line = '{"event":"adding","path":"a","text":"b","size":1,"sha256":"00","mtime_ns":1,"draft":"c","directories":[]}'
    entry = decode_entry(json.loads(line), where="journal.jsonl:1")
    assert isinstance(entry, Adding)
    assert entry.place == -1
