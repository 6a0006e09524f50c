"""Rollback of several setups, rollback after changes by other programs, and giving up a rollback."""

from pathlib import Path
from typing import Any

import pytest
from support.journal.environments import (
    FIRST,
    OURS,
    SECOND,
    SITE,
    live,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    set_up,
    set_up_again,
    swap_moves,
    write_tree,
)

from fastinstall.core import files
from fastinstall.core.errors import EnvironmentDamagedError, RefusedError, UsageError
from fastinstall.journal.forget import forget
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.journal.undo import UndoResult, undo
from fastinstall.model.history import Move, MoveKind, UnfinishedRun


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    """Return an environment with stock Pillow."""
    return make_environment(tmp_path / "env")


@pytest.fixture
def replaced(store: JournalStore) -> JournalStore:
    """Return an environment where pip has replaced our stack with another Pillow."""
    set_up(store)
    site = store.prefix / SITE
    for name in ("PIL", "pillow.libs", "pillow-12.1.1+simd.v3.dist-info"):
        files.discard(site / name)
    write_tree(
        site,
        {"PIL/_imaging.so": "pip's core", "pillow.libs/libjpeg.so": "jpeg", "pillow-14.0.0.dist-info/RECORD": "pip's"},
    )
    return store


INTRUDER = f"{SITE}/pillow-14.0.0.dist-info"
RECORD_OF_OURS = f"{SITE}/pillow-12.1.1+simd.v3.dist-info"


def test_setups_are_undone_one_by_one_with_their_receipts(store: JournalStore) -> None:
    before = picture(store.prefix)
    set_up(store)
    between = picture(store.prefix)
    set_up_again(store)
    result = rollback(store)
    assert (result.ids, result.receipt) == ((SECOND.id,), receipt_of(FIRST))
    assert picture(store.prefix) == between
    assert rollback(store).receipt is None
    assert picture(store.prefix) == before


def test_the_guards_event_log_goes_with_the_last_setup_undone(store: JournalStore) -> None:
    before = picture(store.prefix)
    set_up(store)
    write_tree(store.prefix, {EVENTS: "{}\n", EVENTS_BEFORE: "{}\n"})
    set_up_again(store)
    rollback(store)
    assert (store.prefix / EVENTS).is_file()
    rollback(store)
    assert picture(store.prefix) == before


def test_the_guards_event_log_outlives_a_forgotten_setup(store: JournalStore) -> None:
    set_up(store)
    write_tree(store.prefix, {EVENTS: "{}\n"})
    forget(store, FIRST.id)
    assert (store.prefix / EVENTS).is_file()


def test_a_named_setup_is_undone_with_all_after_it(store: JournalStore) -> None:
    before = picture(store.prefix)
    set_up(store)
    set_up_again(store)
    assert rollback(store, to=FIRST.id).ids == (SECOND.id, FIRST.id)
    assert picture(store.prefix) == before


def test_without_a_setup_there_is_nothing_to_roll_back(store: JournalStore) -> None:
    assert rollback(store).ids == ()
    with pytest.raises(UsageError, match=r"no-such: .* known: none"):
        rollback(store, to="no-such")


def test_files_that_pip_replaced_block_a_rollback_and_are_named(replaced: JournalStore) -> None:
    before = picture(replaced.prefix)
    with pytest.raises(RefusedError) as caught:
        rollback(replaced, foreign_entries=(INTRUDER,))
    assert f"{SITE}/PIL" in caught.value.message
    assert INTRUDER in caught.value.message
    assert f"{SITE}/pillow.libs" not in caught.value.message, "its content is what we put there"
    assert "--allow force-remove" in str(caught.value.hint)
    assert picture(replaced.prefix) == before


def test_a_forced_rollback_keeps_pips_files_and_undoes_the_rest(replaced: JournalStore, tmp_path: Path) -> None:
    result = rollback(replaced, force=True, foreign_entries=(INTRUDER,))
    kept = replaced.root / "kept" / FIRST.id / SITE
    assert set(result.kept) == {kept / "PIL", kept / "pillow-14.0.0.dist-info"}
    assert (kept / "PIL/_imaging.so").read_text() == "pip's core"
    assert live(replaced.prefix) == live(make_environment(tmp_path / "like before").prefix)


def test_a_file_that_a_user_added_to_our_tree_is_not_destroyed(store: JournalStore) -> None:
    set_up(store)
    write_tree(store.prefix / SITE, {"PIL/MyPlugin.py": "mine"})
    with pytest.raises(RefusedError, match="PIL"):
        rollback(store)
    rollback(store, force=True)
    kept = store.root / "kept" / FIRST.id / SITE / "PIL/MyPlugin.py"
    assert kept.read_text() == "mine"


def test_bytecode_written_since_is_nobodys(store: JournalStore) -> None:
    before = picture(store.prefix)
    set_up(store)
    write_tree(store.prefix / SITE, {"PIL/__pycache__/_simd.cpython-311.pyc": "bytecode"})
    rollback(store)
    assert picture(store.prefix) == before


def test_entries_that_somebody_removed_do_not_hinder(store: JournalStore) -> None:
    before = picture(store.prefix)
    set_up(store)
    for name in ("PIL", "pillow-12.1.1+simd.v3.dist-info"):
        files.discard(store.prefix / SITE / name)
    assert rollback(store).lost == ()
    assert picture(store.prefix) == before


def test_what_was_lost_for_good_is_told(store: JournalStore) -> None:
    set_up(store)
    files.discard(store.directory(FIRST.id) / "aside/pillow-13.0.0.dist-info")
    assert rollback(store).lost == (f"{SITE}/pillow-13.0.0.dist-info",)


def test_other_packages_installed_since_stay(store: JournalStore) -> None:
    set_up(store)
    write_tree(store.prefix, {f"{SITE}/numpy/__init__.py": "numpy", "share/man/man1/f2py.1": "manual"})
    time = (store.prefix / SITE).stat().st_mtime_ns
    rollback(store)
    assert (store.prefix / SITE / "numpy/__init__.py").exists()
    assert (store.prefix / "share/man/man1/f2py.1").exists()
    assert not store.root.exists()
    assert (store.prefix / SITE).stat().st_mtime_ns >= time, "importers must see that the listing differs"


def test_a_recovery_meets_what_a_user_installed_over_the_wreck(store: JournalStore) -> None:
    before = live(store.prefix)
    transaction = open_transaction(store)
    transaction.perform(swap_moves())
    files.discard(store.prefix / SITE / "PIL")
    write_tree(store.prefix / SITE, {"PIL/_imaging.so": "pip's core"})
    with pytest.raises(RefusedError, match="PIL"):
        recover(store)
    recovered = recover(store, force=True)
    assert recovered is not None
    assert (recovered.interruption.id, recovered.interruption.kind) == (FIRST.id, UnfinishedRun.SETUP)
    assert [path.name for path in recovered.undone.kept] == ["PIL"]
    assert live(store.prefix) == before


def test_forgetting_keeps_the_environment_and_frees_the_rest(store: JournalStore) -> None:
    set_up(store)
    set_up_again(store)
    before = live(store.prefix)
    assert forget(store, FIRST.id) == (FIRST.id,)
    assert live(store.prefix) == before
    assert [info.id for info in store.transactions()] == [SECOND.id]
    assert rollback(store).receipt == receipt_of(FIRST)
    with pytest.raises(UsageError, match="no such setup"):
        rollback(store, to=FIRST.id)


def test_forgetting_the_newest_forgets_the_older_not_the_receipt(store: JournalStore) -> None:
    set_up(store)
    set_up_again(store)
    assert forget(store, SECOND.id) == (SECOND.id, FIRST.id)
    assert store.read_receipt() == receipt_of(SECOND)
    assert rollback(store).ids == ()


def _repair(store: JournalStore) -> None:
    """Replace pip's Pillow with our stack again, as a repair does."""
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        write_tree(transaction.stage, OURS)
        transaction.perform(
            (
                Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL", kept="stage/PIL"),
                Move(kind=MoveKind.OUT, live=INTRUDER, kept="aside/pillow-14.0.0.dist-info"),
                Move(kind=MoveKind.IN, live=RECORD_OF_OURS, kept="stage/pillow-12.1.1+simd.v3.dist-info"),
            )
        )
        transaction.commit(receipt_of(SECOND))


def test_a_rollback_past_a_repair_goes_straight_to_its_target(replaced: JournalStore, tmp_path: Path) -> None:
    _repair(replaced)
    result = rollback(replaced, to=FIRST.id)
    assert result.ids == (SECOND.id, FIRST.id)
    kept = replaced.root / "kept" / FIRST.id / SITE
    assert set(result.kept) == {kept / "PIL", kept / "pillow-14.0.0.dist-info"}, "what the repair had put aside"
    assert live(replaced.prefix) == live(make_environment(tmp_path / "like before").prefix)


def test_a_repair_alone_is_undone_to_what_pip_had_put_there(replaced: JournalStore) -> None:
    before = picture(replaced.prefix)
    _repair(replaced)
    assert rollback(replaced).kept == ()
    assert picture(replaced.prefix) == before


def test_an_obstacle_to_a_later_step_is_refused_before_the_first(store: JournalStore) -> None:
    set_up(store)
    write_tree(store.prefix / SITE, {"made/for/it.py": "somebody's"})
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        write_tree(transaction.stage, {"beside.py": "ours"})
        transaction.perform((Move(kind=MoveKind.IN, live=f"{SITE}/beside.py", kept="stage/beside.py"),))
        transaction.commit(receipt_of(SECOND))
    before = picture(store.prefix)
    with pytest.raises(RefusedError, match=f"{SITE}/made/for/it.py: in the way") as caught:
        rollback(store, to=FIRST.id)
    assert f"--to {FIRST.id} --yes --allow force-remove" in str(caught.value.hint)
    assert picture(store.prefix) == before
    assert rollback(store, to=FIRST.id, force=True).ids == (SECOND.id, FIRST.id)


def test_a_refusal_between_two_steps_says_that_one_is_undone(
    store: JournalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(store)
    set_up_again(store)

    def undo_and_meddle(*arguments: Any, **options: Any) -> UndoResult:
        done = undo(*arguments, **options)
        write_tree(store.prefix / SITE, {"pillow-12.1.1+simd.v3.dist-info/RECORD": "somebody's"})
        return done

    monkeypatch.setattr("fastinstall.journal.rollback.undo", undo_and_meddle)
    with pytest.raises(EnvironmentDamagedError, match="dist-info: in the way") as caught:
        rollback(store, to=FIRST.id)
    assert caught.value.details[0] == f"also undone: {SECOND.id}"


def test_the_guards_event_log_goes_although_files_were_kept(replaced: JournalStore) -> None:
    write_tree(replaced.prefix, {EVENTS: "{}\n", EVENTS_BEFORE: "{}\n"})
    rollback(replaced, force=True, foreign_entries=(INTRUDER,))
    assert [path.name for path in replaced.root.iterdir()] == ["kept"]


def test_an_undone_setup_leaves_nothing_beside_files_kept_before(replaced: JournalStore) -> None:
    rollback(replaced, force=True, foreign_entries=(INTRUDER,))
    before = picture(replaced.prefix)
    set_up(replaced)
    write_tree(replaced.prefix, {EVENTS: "{}\n"})
    rollback(replaced)
    assert picture(replaced.prefix) == before


def test_forgetting_everything_accepted_leaves_nothing_of_ours(store: JournalStore) -> None:
    set_up(store)
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        transaction.retire(SECOND.at)
    write_tree(store.prefix, {EVENTS: "{}\n"})
    forget(store, SECOND.id)
    assert not store.root.exists()
