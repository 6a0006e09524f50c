"""Withdrawing a receipt: the environment no longer counts as set up, rollback restores the receipt, kills are safe."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    SECOND,
    SITE,
    dies_at,
    live,
    make_environment,
    picture,
    receipt_of,
    recover_all,
    set_up,
    set_up_again,
    steps_of,
    swift_directory,
    write_tree,
)

from fastinstall.core import files
from fastinstall.journal.rollback import rollback
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.history import Move, MoveKind

THIRD = Stamp(id="20261121T101700Z-000003", at="2026-11-21T10:17:00Z")
GUARD = f"{SITE}/made/for/it.py"


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


def swapped(prefix: Path) -> JournalStore:
    """Return an environment where another tool has replaced our stack with another Pillow."""
    store = make_environment(prefix)
    set_up(store)
    files.discard(prefix / SITE / "PIL")
    write_tree(prefix / SITE, {"PIL/_imaging.so": "pip's core"})
    return store


def withdraw(store: JournalStore, stamp: Stamp = THIRD) -> None:
    """Withdraw the guard and the receipt."""
    with begin(store, {"verb": "guard accept"}, site_packages=store.prefix / SITE, stamp=stamp) as transaction:
        transaction.perform((Move(kind=MoveKind.OUT, live=GUARD, kept="aside/guard.py"),))
        transaction.retire(stamp.at)


def test_the_receipt_goes_and_what_is_in_place_stays(tmp_path: Path) -> None:
    store = swapped(tmp_path / "env")
    before = live(store.prefix)
    withdraw(store)
    assert store.read_receipt() is None
    assert store.unfinished() is None
    assert [info.id for info in store.transactions()] == [THIRD.id, FIRST.id]
    assert {path: look for path, look in before.items() if path != GUARD} == live(store.prefix)


def test_rollback_restores_the_receipt_and_leaves_foreign_files(tmp_path: Path) -> None:
    store = swapped(tmp_path / "env")
    before = picture(store.prefix)
    withdraw(store)
    write_tree(store.prefix / SITE, {"PIL/_later.so": "of an upgrade since"})
    result = rollback(store)
    assert (result.ids, result.receipt, result.kept) == ((THIRD.id,), receipt_of(FIRST), ())
    (store.prefix / SITE / "PIL/_later.so").unlink()
    assert {path: look[:2] for path, look in picture(store.prefix).items()} == {
        path: look[:2] for path, look in before.items()
    }


def test_a_setup_after_it_is_undone_first(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    set_up(store)
    withdraw(store)
    accepted = live(store.prefix)
    set_up_again(store)
    assert store.read_receipt() == receipt_of(SECOND)
    assert rollback(store).receipt is None
    assert live(store.prefix) == accepted
    assert rollback(store).receipt == receipt_of(FIRST)


def test_a_block_that_fails_after_it_keeps_the_receipt(tmp_path: Path) -> None:
    store = swapped(tmp_path / "env")
    before = picture(store.prefix)

    def fail() -> None:
        with begin(store, {}, site_packages=store.prefix / SITE, stamp=THIRD) as transaction:
            transaction.retire(THIRD.at)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert store.read_receipt() == receipt_of(FIRST)
    assert picture(store.prefix) == before


def test_a_retirement_killed_at_any_moment_is_all_or_nothing(scenery: Path) -> None:
    outcomes = set()

    def cut(step: int) -> bool:
        store = swapped(scenery / f"{step}/env")
        before = live(store.prefix)
        died = dies_at(step, lambda: withdraw(store))
        recover_all(store)
        held = THIRD.id in [info.id for info in store.transactions()]
        outcomes.add(held)
        assert store.read_receipt() == (None if held else receipt_of(FIRST))
        expected = {path: look for path, look in before.items() if path != GUARD or not held}
        assert live(store.prefix) == expected
        return died

    assert len(list(steps_of(cut))) > 20
    assert outcomes == {True, False}


def test_the_next_command_finishes_a_killed_undo_of_a_retirement(scenery: Path) -> None:
    outcomes = set()

    def cut(step: int) -> bool:
        store = swapped(scenery / f"{step}/env")
        before = live(store.prefix)
        withdraw(store)
        died = dies_at(step, lambda: rollback(store))
        recover_all(store)
        undone = THIRD.id not in [info.id for info in store.transactions()]
        outcomes.add(undone)
        assert store.read_receipt() == (receipt_of(FIRST) if undone else None)
        if undone:
            assert live(store.prefix) == before
        return died

    assert len(list(steps_of(cut))) > 20
    assert outcomes == {True, False}
