"""kill -9 at every step of fastinstall and of an engine: the next command restores the environment to the byte."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from support.conda.miniature import change_of_all_kinds, make_conda_environment, open_in
from support.journal.environments import (
    FIRST,
    dies_at,
    live,
    picture,
    receipt_of,
    recover_all,
    steps_of,
    swift_directory,
)

from fastinstall.core import files
from fastinstall.journal.rollback import rollback
from fastinstall.journal.store import JournalStore

EACH = 2
"""Stride over boundaries: a death after an operation equals a death before the next one."""

Pictures = dict[str, object]


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


def test_a_change_killed_anywhere_ends_as_before_or_as_after(scenery: Path) -> None:
    numbers = iter(range(10_000))
    before, after = _pictures(make_conda_environment(scenery / "whole" / "env"), _change)
    outcomes = set()

    def cut(step: int) -> bool:
        store = make_conda_environment(scenery / str(next(numbers)) / "env")
        died = dies_at(step, lambda: _change(store))
        recover_all(store)
        outcomes.add(_outcome(store, before, after))
        return died

    assert len(list(steps_of(cut, EACH))) > 110, "every change of the disk is counted, the engine's too"
    assert outcomes == {"before", "after"}


@pytest.mark.parametrize("stride", [EACH, 5], ids=["exchange", "three renames"])
def test_a_rollback_killed_anywhere_has_not_begun_or_completes(
    scenery: Path, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if stride != EACH:
        monkeypatch.setattr(files, "exchange", lambda _one, _other: False)
    numbers = iter(range(10_000))
    before, after = _pictures(make_conda_environment(scenery / "whole" / "env"), _change)
    outcomes = set()

    def cut(step: int) -> bool:
        store = make_conda_environment(scenery / str(next(numbers)) / "env")
        _change(store)
        died = dies_at(step, lambda: rollback(store))
        recover_all(store)
        outcomes.add(_outcome(store, before, after))
        return died

    assert len(list(steps_of(cut, stride))) * stride > 80
    assert outcomes == {"before", "after"}


def test_a_recovery_that_dies_is_taken_up_by_the_next_one(scenery: Path) -> None:
    numbers = iter(range(10_000))
    before = picture(make_conda_environment(scenery / "whole" / "env").prefix, times=False)
    for death in (111, 203):  # the first death is within the engine's change, the second after it

        def cut(step: int, death: int = death) -> bool:
            store = make_conda_environment(scenery / str(next(numbers)) / "env")
            assert dies_at(death, lambda: _change(store))
            died = dies_at(step, lambda: recover_all(store))
            recover_all(store)
            assert picture(store.prefix, times=False) == before
            return died

        assert list(steps_of(cut, 5))


def _change(store: JournalStore) -> None:
    """Add a library, let an engine replace it, and put our library back."""
    with open_in(store) as transaction:
        change_of_all_kinds(store, transaction)
        transaction.commit(receipt_of(FIRST))


def _pictures(store: JournalStore, work: Callable[[JournalStore], None]) -> tuple[Pictures, Pictures]:
    before = picture(store.prefix)
    work(store)
    return dict(before), dict(live(store.prefix))


def _outcome(store: JournalStore, before: Pictures, after: Pictures) -> str:
    if store.read_receipt() is not None:
        assert live(store.prefix) == after
        return "after"
    assert _timeless(picture(store.prefix)) == _timeless(before)
    return "before"


def _timeless(pictures: Mapping[str, object]) -> Pictures:
    """Drop the times of `share`: the journal's creation and removal change them (docs/internals/transaction.md)."""
    return {path: look[:2] if isinstance(look, tuple) and path == "share" else look for path, look in pictures.items()}
