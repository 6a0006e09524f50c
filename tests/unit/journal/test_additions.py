"""What is added to a file of somebody else's comes out again alone."""

import os
from pathlib import Path

import pytest

from fastinstall.journal.additions import add, describe, withdraw
from fastinstall.journal.store import Store

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
    store = Store(tmp_path)
    add(store, describe(store, "x", "conda-meta/history", OURS))
    assert file.read_text() == BEFORE + OURS
    assert file.stat().st_mode & 0o777 == 0o640


def test_withdrawn_it_is_as_before_to_the_byte_and_the_time(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    adding = describe(store, "x", "conda-meta/history", OURS)
    add(store, adding)
    for _ in range(2):
        withdraw(store, (adding,))
        assert file.read_text() == BEFORE
        assert file.stat().st_mtime_ns == 1_600_000_000_000_000_000
    assert [path.name for path in file.parent.iterdir()] == ["history"]


def test_what_others_have_added_since_stays(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    adding = describe(store, "x", "conda-meta/history", OURS)
    add(store, adding)
    file.write_text(BEFORE + OURS + LATER)
    withdraw(store, (adding,))
    assert file.read_text() == BEFORE + LATER


def test_in_a_file_that_was_rewritten_ours_is_found_or_let_be(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    adding = describe(store, "x", "conda-meta/history", OURS)
    add(store, adding)
    file.write_text(LATER + OURS)
    withdraw(store, (adding,))
    assert file.read_text() == LATER
    withdraw(store, (adding,))
    assert file.read_text() == LATER


def test_a_file_that_was_not_there_goes_unless_others_write_to_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    adding = describe(store, "x", "conda-meta/pinned", OURS)
    add(store, adding)
    (tmp_path / "conda-meta/pinned").write_text(OURS + LATER)
    withdraw(store, (adding,))
    assert (tmp_path / "conda-meta/pinned").read_text() == LATER
    (tmp_path / "conda-meta/pinned").write_text(OURS)
    withdraw(store, (adding,))
    assert not (tmp_path / "conda-meta/pinned").exists()


def test_several_additions_to_one_file_go_in_any_number_of_attempts(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = describe(store, "x", "conda-meta/history", OURS)
    add(store, first)
    second = describe(store, "x", "conda-meta/history", LATER)
    add(store, second)
    withdraw(store, (first, second))
    assert file.read_text() == BEFORE


def test_death_before_the_replacement_leaves_no_draft_behind(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    adding = describe(store, "x", "conda-meta/history", OURS)
    (tmp_path / adding.draft).write_text("half of i")
    withdraw(store, (adding,))
    assert file.read_text() == BEFORE
    assert [path.name for path in file.parent.iterdir()] == ["history"]


def test_what_was_never_added_is_not_taken_from_what_was_there(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    file.write_text(OURS)
    adding = describe(store, "x", "conda-meta/history", OURS)
    withdraw(store, (adding,))
    assert file.read_text() == OURS
