"""Transactions in a real directory tree: what they change, what they refuse, and how they are undone."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    OLD_TIME,
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

from fastinstall.core.errors import DocumentError, FailedError, RefusedError
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.history import Move, MoveKind, Phase


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    """Return the journal store of an environment with stock Pillow."""
    return make_environment(tmp_path / "env with spaces é")


def test_a_setup_puts_ours_in_place_and_its_receipt(store: JournalStore) -> None:
    set_up(store)
    site = store.prefix / SITE
    assert (site / "PIL/_imaging.so").read_text() == OURS["PIL/_imaging.so"]
    assert not (site / "pillow-13.0.0.dist-info").exists()
    assert store.read_receipt() == receipt_of(FIRST)
    (info,) = store.transactions()
    assert (info.id, info.state) == (FIRST.id, Phase.COMMITTED)
    assert store.journal(info.id).read().batches[0].moves[0].live == f"{SITE}/PIL"
    assert info.held_bytes > 0


@pytest.mark.parametrize("share", [False, True])
def test_a_rollback_restores_every_byte_mode_and_time(tmp_path: Path, *, share: bool) -> None:
    store = make_environment(tmp_path / "env", share=share)
    before = picture(store.prefix)
    set_up(store)
    rollback(store)
    assert picture(store.prefix) == before
    assert store.prefix.stat().st_mtime_ns == OLD_TIME


def test_a_block_that_fails_leaves_the_environment_as_it_was(store: JournalStore) -> None:
    before = picture(store.prefix)
    with pytest.raises(DocumentError), open_transaction(store) as transaction:
        _perform_and_fail(transaction)
    assert picture(store.prefix) == before


def test_an_uncommitted_block_leaves_the_environment_unchanged(store: JournalStore) -> None:
    before = picture(store.prefix)
    with open_transaction(store) as transaction:
        transaction.perform(swap_moves())
    assert picture(store.prefix) == before


def test_a_block_that_fails_after_its_commit_is_undone_too(store: JournalStore) -> None:
    before = picture(store.prefix)
    with pytest.raises(KeyboardInterrupt), open_transaction(store) as transaction:
        _commit_and_be_interrupted(transaction)
    assert picture(store.prefix) == before


def test_undoing_twice_is_not_needed_by_the_block(store: JournalStore) -> None:
    before = picture(store.prefix)
    with open_transaction(store) as transaction:
        transaction.perform(swap_moves())
        transaction.undo("verification failed")
    assert picture(store.prefix) == before


def test_an_interruption_waits_until_undoing_has_ended(store: JournalStore) -> None:
    before = picture(store.prefix)
    transaction = open_transaction(store)
    transaction.perform(swap_moves())
    usual = signal.getsignal(signal.SIGINT)

    def interrupt(_number: int, _frame: object) -> None:
        # send the signal only during the undo: later, the test itself would receive it
        if signal.getsignal(signal.SIGINT) is not usual:
            signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.000_5, 0.000_5)
    try:
        with pytest.raises(KeyboardInterrupt):
            transaction.undo("interrupted")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert picture(store.prefix) == before


def test_files_linked_from_a_cache_keep_their_content_and_links(store: JournalStore, tmp_path: Path) -> None:
    cached, linked = tmp_path / "cached.so", store.prefix / SITE / "PIL/_linked.so"
    cached.write_text("cached", encoding="utf-8")
    os.link(cached, linked)
    inode = linked.stat().st_ino
    set_up(store)
    rollback(store)
    assert (linked.stat().st_ino, cached.read_text(), cached.stat().st_nlink) == (inode, "cached", 2)


def test_an_environment_that_was_copied_whole_can_be_rolled_back(store: JournalStore, tmp_path: Path) -> None:
    before = picture(store.prefix, times=False)
    set_up(store)
    set_up_again(store)
    shutil.copytree(store.prefix, tmp_path / "copy", symlinks=True)
    copy = JournalStore(tmp_path / "copy")
    assert rollback(copy, to=FIRST.id).ids == (SECOND.id, FIRST.id)
    assert picture(copy.prefix, times=False) == before


@pytest.mark.parametrize(
    ("move", "error"),
    [
        (Move(kind=MoveKind.IN, live=f"{SITE}/imageio", kept="stage/PIL"), RefusedError),
        (Move(kind=MoveKind.OUT, live=f"{SITE}/absent", kept="aside/absent"), FailedError),
        (Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL", kept="stage/absent"), FailedError),
        (Move(kind=MoveKind.OUT, live=f"{SITE}/imageio", kept="elsewhere/imageio"), FailedError),
        (Move(kind=MoveKind.OUT, live="../outside", kept="aside/outside"), FailedError),
        (Move(kind=MoveKind.OUT, live="/etc/hostname", kept="aside/hostname"), FailedError),
    ],
    ids=["foreign in the way", "nothing to take", "nothing staged", "kept elsewhere", "outside", "absolute"],
)
def test_an_impossible_batch_is_refused_before_its_first_move(
    store: JournalStore, move: Move, error: type[Exception]
) -> None:
    before = live(store.prefix)
    with open_transaction(store) as transaction:
        with pytest.raises(error):
            transaction.perform((swap_moves()[0], move))
        assert live(store.prefix) == before


def test_a_move_that_fails_halfway_is_undone(store: JournalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third rename is refused, as if the directory had lost its write permission."""
    before = picture(store.prefix)
    from fastinstall.core import files

    real, calls = files._call_renameat2, iter(range(100))

    def refuse_the_third(source: Path, target: Path, flags: int) -> None:
        if "site-packages" in f"{source}{target}" and next(calls) == 2:
            raise PermissionError(13, "Permission denied", str(source))
        real(source, target, flags)

    monkeypatch.setattr(files, "_call_renameat2", refuse_the_third)
    with pytest.raises(FailedError, match="Permission denied"), open_transaction(store) as transaction:
        transaction.perform(swap_moves())
    assert picture(store.prefix) == before


def test_foreign_files_in_the_way_of_an_undo_are_kept_and_named(store: JournalStore) -> None:
    transaction = open_transaction(store)
    transaction.perform(swap_moves())
    write_tree(store.prefix / SITE, {"pillow-13.0.0.dist-info/RECORD": "pip was here"})
    with pytest.raises(RefusedError, match="its files stay") as caught:
        transaction.undo("failed")
    assert any("pillow-13.0.0.dist-info" in line for line in caught.value.details)
    assert recover(store) is None
    assert (store.prefix / SITE / "pillow-13.0.0.dist-info/RECORD").read_text() == "pip was here"


def test_an_unfinished_transaction_forbids_another(store: JournalStore) -> None:
    open_transaction(store)
    with pytest.raises(RefusedError, match=f"{FIRST.id} was interrupted"):
        open_transaction(store, SECOND)


def test_nothing_is_left_where_no_transaction_can_begin(store: JournalStore) -> None:
    write_tree(store.prefix, {"share": "a file"})
    before = picture(store.prefix)
    with pytest.raises(FailedError, match="share"):
        open_transaction(store)
    assert picture(store.prefix) == before


def test_site_packages_outside_of_the_environment_is_refused(store: JournalStore, tmp_path: Path) -> None:
    before = picture(store.prefix)
    with pytest.raises(RefusedError, match="outside"):
        begin(store, {}, site_packages=tmp_path, stamp=FIRST)
    assert picture(store.prefix) == before


def test_moves_may_come_in_batches(store: JournalStore) -> None:
    before = picture(store.prefix)
    with open_transaction(store) as transaction:
        for move in swap_moves():
            transaction.perform((move,))
        assert transaction.window_ns > 0
        transaction.commit(receipt_of(FIRST))
    rollback(store)
    assert picture(store.prefix) == before


def test_a_malformed_receipt_is_named_with_its_key(store: JournalStore) -> None:
    set_up(store)
    text = store.receipt_file.read_text(encoding="utf-8")
    store.receipt_file.write_text(text.replace('"stack_version"', '"stak_version"'), encoding="utf-8")
    with pytest.raises(DocumentError, match=r"receipt\.json: stack_version: missing"):
        store.read_receipt()
    store.receipt_file.write_text("{", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"receipt\.json: not JSON"):
        store.read_receipt()


def _perform_and_fail(transaction: Transaction) -> None:
    transaction.perform(swap_moves())
    raise DocumentError("receipt.json", "core", "missing")


def _commit_and_be_interrupted(transaction: Transaction) -> None:
    transaction.perform(swap_moves())
    transaction.commit(receipt_of(FIRST))
    raise KeyboardInterrupt
