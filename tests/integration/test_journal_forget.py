"""Giving up a rollback touches neither live files nor those of other rollbacks, no matter when the process dies."""

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
    set_up,
    set_up_again,
    steps_of,
    swift_directory,
    write_tree,
)

from fastinstall.core.errors import DocumentError, LaterDocumentError, RefusedError, UsageError
from fastinstall.journal.forget import (
    forget,
    list_forgettable_transactions,
    move_damaged_transaction_away,
    unreadable_named,
)
from fastinstall.journal.layout import JOURNAL
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.history import Move, MoveKind, UnfinishedRun


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


def _twice_set_up(prefix: Path) -> JournalStore:
    store = make_environment(prefix)
    set_up(store)
    set_up_again(store)
    return store


def test_an_interrupted_forget_has_not_begun_or_is_completed(scenery: Path) -> None:
    outcomes: set[tuple[str, ...]] = set()
    between = live(_between(scenery))

    def cut(step: int) -> bool:
        store = _twice_set_up(scenery / str(step))
        before = live(store.prefix)
        died = dies_at(step, lambda: forget(store, FIRST.id))
        recovered = recover(store)
        assert recovered is None or recovered.interruption.kind is UnfinishedRun.CLEANUP
        assert live(store.prefix) == before
        assert store.read_receipt() == receipt_of(SECOND)
        assert not list(store.prefix.rglob(".fastinstall-*"))
        outcomes.add(tuple(info.id for info in store.transactions()))
        assert rollback(store).receipt == receipt_of(FIRST), "the newest can be undone whatever became of the older one"
        assert live(store.prefix) == between
        return died

    assert len(list(steps_of(cut))) > 20
    assert outcomes == {(SECOND.id, FIRST.id), (SECOND.id,)}


def _between(scenery: Path) -> Path:
    store = make_environment(scenery / "between")
    set_up(store)
    return store.prefix


def test_all_but_the_setup_that_holds_go_where_none_is_named(tmp_path: Path) -> None:
    store = _twice_set_up(tmp_path / "env")
    held = sum(info.held_bytes for info in list_forgettable_transactions(store, None))
    assert held > 0
    assert forget(store, None) == (FIRST.id,)
    assert list_forgettable_transactions(store, None) == ()
    assert forget(store, None) == ()


def test_an_outside_link_is_refused_before_anything_is_forgotten(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=FIRST) as transaction:
        transaction.commit(receipt_of(FIRST))
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        (transaction.stage / "x").write_text("")
        transaction.perform((Move(kind=MoveKind.IN, live="etc/x", kept="stage/x"),))
        transaction.commit(receipt_of(SECOND))
    (store.prefix / "etc").rename(tmp_path / "etc")
    (store.prefix / "etc").symlink_to(tmp_path / "etc")
    before = picture(store.prefix)
    with pytest.raises(RefusedError, match="leads outside the environment"):
        forget(store, SECOND.id)
    assert picture(store.prefix) == before


def test_later_guard_changes_belong_to_the_setup_in_force(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    set_up(store)
    (store.root / "receipt.json").rename(tmp_path / "receipt.json")
    set_up_again(store)
    # the first setup's receipt is back, as after `guard install`
    (tmp_path / "receipt.json").replace(store.root / "receipt.json")
    assert list_forgettable_transactions(store, None) == ()


def test_a_beginning_of_a_name_is_enough_and_two_are_too_many(tmp_path: Path) -> None:
    store = _twice_set_up(tmp_path / "env")
    assert [info.id for info in list_forgettable_transactions(store, FIRST.id[:-1] + "1")] == [FIRST.id]
    with pytest.raises(UsageError, match=f"several .*: {SECOND.id}, {FIRST.id}"):
        list_forgettable_transactions(store, FIRST.id[:8])
    with pytest.raises(UsageError, match="no such setup; known: "):
        list_forgettable_transactions(store, "2031")
    with pytest.raises(UsageError, match="no such setup"):
        list_forgettable_transactions(store, "")


def test_with_a_bad_receipt_only_a_named_setup_is_forgotten(tmp_path: Path) -> None:
    store = _twice_set_up(tmp_path / "env")
    store.receipt_file.write_text("{")
    with pytest.raises(DocumentError, match="not JSON"):
        forget(store, None)
    assert forget(store, FIRST.id) == (FIRST.id,)


def _damaged(store: JournalStore, identifier: str) -> None:
    journal = store.directory(identifier) / JOURNAL
    journal.write_text(journal.read_text().replace('"moves"', '"moved"'))


def test_a_damaged_journal_stops_only_the_transactions_below_it(tmp_path: Path) -> None:
    store = _twice_set_up(tmp_path / "env")
    _damaged(store, SECOND.id)
    with pytest.raises(DocumentError, match=r"journal\.jsonl:2: moves: missing") as caught:
        rollback(store, to=FIRST.id)
    assert f"rollback --forget {SECOND.id}" in str(caught.value.hint)
    other = _twice_set_up(tmp_path / "other")
    _damaged(other, FIRST.id)
    assert rollback(other).receipt == receipt_of(FIRST)
    with pytest.raises(DocumentError, match="moves: missing"):
        rollback(other)


def test_an_unreadable_transaction_is_moved_whole_despite_a_kill(scenery: Path) -> None:
    outcomes = set()

    def cut(step: int) -> bool:
        store = _twice_set_up(scenery / str(step))
        _damaged(store, SECOND.id)
        before, whole = live(store.prefix), _content(store.directory(SECOND.id))
        damaged = unreadable_named(store, SECOND.id)
        assert damaged is not None
        died = dies_at(step, lambda: move_damaged_transaction_away(store, damaged))
        away = store.root / "kept" / SECOND.id / "transaction"
        assert live(store.prefix) == before
        assert _content(away if away.exists() else store.directory(SECOND.id)) == whole
        outcomes.add(away.exists())
        return died

    assert list(steps_of(cut))
    assert outcomes == {True, False}


def _content(directory: Path) -> dict[str, tuple[object, ...]]:
    return picture(directory)


def test_once_it_is_put_away_the_others_go_on(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    set_up(store)
    _damaged(store, FIRST.id)
    for number in ("transaction", "transaction.2"):
        damaged = unreadable_named(store, FIRST.id)
        assert damaged is not None
        assert move_damaged_transaction_away(store, damaged).name == number
        assert store.transactions() == ()
        if number == "transaction":
            # a directory with the transaction's name, but without a journal
            write_tree(store.directory(FIRST.id), {"aside/PIL.py": ""})
    set_up_again(store)
    assert rollback(store).ids == (SECOND.id,)


def test_what_a_later_version_wrote_is_not_put_away(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    set_up(store)
    journal = store.directory(FIRST.id) / JOURNAL
    journal.write_text(journal.read_text().replace("fastinstall.journal/1", "fastinstall.journal/2"))
    before = picture(store.prefix)
    damaged = unreadable_named(store, FIRST.id)
    assert damaged is not None
    with pytest.raises(LaterDocumentError, match="could not be put away"):
        move_damaged_transaction_away(store, damaged)
    for act in (rollback, recover):
        with pytest.raises(LaterDocumentError):
            act(store)
    assert picture(store.prefix) == before
