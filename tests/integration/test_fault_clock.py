"""A clock that goes back or stands still: transactions are undone in the order of their numbers, not their times."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.journal.environments import SITE, make_environment, picture, receipt_of, set_up, set_up_again, write_tree

from fastinstall.core.errors import FailedError
from fastinstall.journal import stamp as stamps
from fastinstall.journal.forget import forget, list_forgettable_transactions
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.stamp import Stamp, make_stamp, stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.history import Move, MoveKind

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
CLOCKS = {
    "backwards": (NOW, NOW - timedelta(hours=1), NOW - timedelta(days=400)),
    "standing still": (NOW, NOW, NOW),
    "back and forth": (NOW, NOW + timedelta(days=9), NOW + timedelta(hours=1)),
}


def _stamps(name: str) -> tuple[Stamp, ...]:
    """Return stamps whose random parts descend, so that names with equal times sort in the wrong order."""
    return tuple(stamp(moment, f"{9 - number:06x}") for number, moment in enumerate(CLOCKS[name]))


def _thrice(store: JournalStore, name: str) -> list[dict[str, tuple[object, ...]]]:
    """Perform three setups, one over the other; return the environment's state before each setup."""
    looks = []
    for number, each in enumerate(_stamps(name)):
        looks.append(picture(store.prefix))
        if number == 0:
            set_up(store, each)
            continue
        with begin(store, {}, site_packages=store.prefix / SITE, stamp=each) as transaction:
            write_tree(transaction.stage, {"core": f"core {number}"})
            transaction.perform((Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL/_imaging.so", kept="stage/core"),))
            transaction.commit(receipt_of(each))
    return looks


@pytest.mark.parametrize("name", CLOCKS)
def test_setups_are_listed_and_undone_in_the_order_of_creation(tmp_path: Path, name: str) -> None:
    store, expected = make_environment(tmp_path / "env"), [each.id for each in _stamps(name)]
    looks = _thrice(store, name)
    assert [info.id for info in store.transactions()] == expected[::-1]
    while expected:
        assert rollback(store).ids == (expected.pop(),)
        assert picture(store.prefix) == looks.pop()


@pytest.mark.parametrize("name", CLOCKS)
def test_rolling_back_to_an_earlier_setup_undoes_all_later_ones(tmp_path: Path, name: str) -> None:
    store, expected = make_environment(tmp_path / "env"), [each.id for each in _stamps(name)]
    looks = _thrice(store, name)
    assert rollback(store, to=expected[1]).ids == (expected[2], expected[1])
    assert picture(store.prefix) == looks[1]


@pytest.mark.parametrize("name", CLOCKS)
def test_what_is_given_up_is_the_oldest_by_count(tmp_path: Path, name: str) -> None:
    store, expected = make_environment(tmp_path / "env"), [each.id for each in _stamps(name)]
    looks = _thrice(store, name)
    assert [info.id for info in list_forgettable_transactions(store, None)] == [expected[1], expected[0]]
    assert forget(store, expected[0]) == (expected[0],)
    assert rollback(store, to=expected[1]).ids == (expected[2], expected[1])
    assert {path: look[:2] for path, look in picture(store.prefix).items() if "share" not in path} == {
        path: look[:2] for path, look in looks[1].items() if "share" not in path
    }


@pytest.mark.parametrize("name", CLOCKS)
def test_what_was_interrupted_last_is_undone_and_nothing_else(tmp_path: Path, name: str) -> None:
    store = make_environment(tmp_path / "env")
    looks = _thrice(store, name)
    left = _stamps(name)[-1]
    rollback(store)
    transaction = begin(store, {}, site_packages=store.prefix / SITE, stamp=left)
    write_tree(transaction.stage, {"core": "core"})
    transaction.perform((Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL/_imaging.so", kept="stage/core"),))
    recovered = recover(store)
    assert recovered is not None
    assert recovered.interruption.id == left.id
    assert picture(store.prefix) == looks[2]


def test_a_clock_going_back_during_a_setup_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_environment(tmp_path / "env")
    before = picture(store.prefix)
    moments = iter((NOW, NOW - timedelta(days=1)))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]  # one moment per call
            assert tz is UTC
            return next(moments)

    monkeypatch.setattr(stamps, "datetime", Clock)
    first, second = make_stamp(), make_stamp()
    assert second.id < first.id
    set_up(store, first)
    set_up_again(store)
    assert rollback(store, to=first.id).receipt is None
    assert picture(store.prefix) == before


def test_a_taken_name_changes_nothing_and_undo_still_works(tmp_path: Path) -> None:
    """Both setups get the same stamp, as if their times and their random digits coincided."""
    store = make_environment(tmp_path / "env")
    before = picture(store.prefix)
    set_up(store, _stamps("standing still")[0])
    after = picture(store.prefix)
    with pytest.raises(FailedError, match="already exists"):
        set_up(store, _stamps("standing still")[0])
    assert picture(store.prefix) == after
    rollback(store)
    assert picture(store.prefix) == before


def test_files_from_the_future_keep_their_times(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    ahead = 4_000_000_000_123_456_789
    for path in store.prefix.rglob("*"):
        os.utime(path, ns=(ahead, ahead), follow_symlinks=False)
    before = picture(store.prefix)
    set_up(store)
    rollback(store)
    assert picture(store.prefix) == before
