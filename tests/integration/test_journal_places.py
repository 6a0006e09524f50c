"""Transactions that span a whole environment: nested directories, new directories, several batches of moves."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    OLD_TIME,
    SECOND,
    SITE,
    dies_at,
    live,
    make_environment,
    picture,
    receipt_of,
    recover_all,
    steps_of,
    swift_directory,
    write_tree,
)

from fastinstall.core.errors import RefusedError
from fastinstall.journal.entries import Adding
from fastinstall.journal.forget import forget
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.history import Move, MoveKind

RECORDS = {"conda-meta/pillow-13-0.json": "pillow 13", "conda-meta/history": "one revision\n"}
STAGED = {
    f"prefix/{SITE}/PIL/_imaging.so": "linked core",
    "prefix/conda-meta/pillow-13-simd.json": "ours",
    "prefix/conda-meta/history": "one revision\n==> another <==\n",
    "prefix/etc/conda/activate.d/guard.sh": "guard",
    "prefix/condarc.d/fastinstall.yml": "channels: []",
    "prefix/share/fastinstall/channel/noarch/repodata.json": "{}",
    "late/core": "core, corrected",
    "late/more.sh": "one more script",
    "late/repodata.json": '{"packages": {}}',
}
CHANNEL = "share/fastinstall/channel"


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


def make(prefix: Path, *, etc: bool = False) -> JournalStore:
    """Return a conda environment, with or without an `etc`."""
    store = make_environment(prefix, share=True)
    write_tree(prefix, {**RECORDS, **({"etc/conda/state": "kept"} if etc else {})})
    for path in (*prefix.rglob("*"), prefix):
        os.utime(path, ns=(OLD_TIME, OLD_TIME), follow_symlinks=False)
    return store


def set_up(store: JournalStore, stamp: Stamp = FIRST) -> None:
    """Move everything that a setup moves in a conda environment, in two batches."""
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=stamp) as transaction:
        write_tree(transaction.stage, STAGED)
        transaction.perform(_first(store))
        transaction.perform(_second())
        transaction.commit(receipt_of(stamp))


def _first(store: JournalStore) -> tuple[Move, ...]:
    there = (store.prefix / CHANNEL).exists()
    return (
        Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL", kept=f"stage/prefix/{SITE}/PIL"),
        Move(kind=MoveKind.OUT, live="conda-meta/pillow-13-0.json", kept="aside/conda/conda-meta/pillow-13-0.json"),
        *(
            Move(kind=MoveKind.IN, live=path, kept=f"stage/prefix/{path}")
            for path in ("conda-meta/pillow-13-simd.json", "etc/conda/activate.d/guard.sh", "condarc.d/fastinstall.yml")
        ),
        Move(kind=MoveKind.EXCHANGE, live="conda-meta/history", kept="stage/prefix/conda-meta/history"),
        Move(kind=MoveKind.EXCHANGE if there else MoveKind.IN, live=CHANNEL, kept=f"stage/prefix/{CHANNEL}"),
    )


def _second() -> tuple[Move, ...]:
    """Return the moves of the second batch, which need files that the first batch moved."""
    return (
        Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL/_imaging.so", kept="stage/late/core"),
        Move(kind=MoveKind.IN, live="etc/conda/activate.d/more.sh", kept="stage/late/more.sh"),
        Move(kind=MoveKind.OUT, live="etc/conda/activate.d/guard.sh", kept="aside/late/deep/guard.sh"),
        Move(kind=MoveKind.EXCHANGE, live=f"{CHANNEL}/noarch/repodata.json", kept="stage/late/repodata.json"),
    )


@pytest.mark.parametrize("etc", [False, True])
def test_a_rollback_restores_every_place_and_directory_time(tmp_path: Path, *, etc: bool) -> None:
    store = make(tmp_path / "env", etc=etc)
    before = picture(store.prefix)
    set_up(store)
    assert (store.prefix / SITE / "PIL/_imaging.so").read_text() == "core, corrected"
    assert rollback(store).lost == ()
    assert picture(store.prefix) == before
    assert store.prefix.stat().st_mtime_ns == OLD_TIME


def test_a_death_in_either_batch_ends_before_or_after(scenery: Path) -> None:
    numbers = iter(range(10_000))
    before = picture(make(scenery / "whole" / "env").prefix, times=False)
    after = _of_a_setup(scenery)
    outcomes = set()

    def cut(step: int) -> bool:
        store = make(scenery / str(next(numbers)) / "env")
        died = dies_at(step, lambda: set_up(store))
        recover_all(store)
        held = store.read_receipt() is not None
        outcomes.add(held)
        assert live(store.prefix) == after if held else picture(store.prefix, times=False) == before
        return died

    assert len(list(steps_of(cut, 2))) > 40, "before each operation"
    assert outcomes == {True, False}


def test_a_rollback_interrupted_between_batches_is_completed(scenery: Path) -> None:
    numbers = iter(range(10_000))
    before = picture(make(scenery / "whole" / "env").prefix, times=False)

    def cut(step: int) -> bool:
        store = make(scenery / str(next(numbers)) / "env")
        set_up(store)
        died = dies_at(step, lambda: rollback(store))
        recovered = recover(store)
        assert recovered is None or recovered.undone.lost == ()
        if store.read_receipt() is None:
            assert picture(store.prefix, times=False) == before
        return died

    assert len(list(steps_of(cut, 2))) > 20


def test_an_earlier_setups_channel_survives_undoing_a_later_one(tmp_path: Path) -> None:
    store = make(tmp_path / "env")
    before = picture(store.prefix)
    set_up(store)
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        write_tree(transaction.stage, {"channel/noarch/repodata.json": "later"})
        transaction.perform((Move(kind=MoveKind.EXCHANGE, live=CHANNEL, kept="stage/channel"),))
    assert (store.prefix / CHANNEL / "noarch/repodata.json").read_text() == '{"packages": {}}'
    rollback(store)
    assert picture(store.prefix) == before


def test_the_channel_outlives_forgetting_and_goes_with_its_setup(tmp_path: Path) -> None:
    store = make(tmp_path / "env")
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=FIRST) as transaction:
        transaction.commit(receipt_of(FIRST))
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        write_tree(transaction.stage, {"channel/noarch/repodata.json": "{}"})
        transaction.perform((Move(kind=MoveKind.IN, live=CHANNEL, kept="stage/channel"),))
        transaction.commit(receipt_of(SECOND))
    forget(store, FIRST.id)
    assert (store.prefix / CHANNEL).is_dir()
    rollback(store)
    assert not (store.prefix / CHANNEL).exists()
    assert store.receipt_file.exists(), "the first setup holds, although the way back behind it is given up"


def test_what_somebody_put_into_the_channel_refuses_a_rollback(tmp_path: Path) -> None:
    store = make(tmp_path / "env")
    set_up(store)
    write_tree(store.prefix, {f"{CHANNEL}/noarch/mine-1.conda": "mine"})
    with pytest.raises(RefusedError, match=CHANNEL):
        rollback(store)


def test_another_conda_package_of_the_name_refuses_a_rollback(tmp_path: Path) -> None:
    store = make(tmp_path / "env")
    set_up(store)
    write_tree(store.prefix, {"conda-meta/pillow-14-0.json": '{"files": ["lib/x.so"]}', "lib/x.so": "14"})
    with pytest.raises(RefusedError, match=r"conda-meta/pillow-14-0\.json and lib/x\.so"):
        rollback(store)
    assert {path.name for path in rollback(store, force=True).kept} == {"pillow-14-0.json", "x.so"}


def test_undo_removes_added_lines_and_restores_directory_times(tmp_path: Path) -> None:
    store = make(tmp_path / "env")
    before = picture(store.prefix)
    with begin(store, {}, site_packages=store.prefix / SITE, stamp=FIRST) as transaction:
        transaction.add("conda-meta/pinned", "pillow * simd_*\n")
        transaction.add("conda-meta/history", "==> ours <==\n")
        transaction.add("conda-meta/history", "==> ours too <==\n")
        transaction.commit(receipt_of(FIRST))
    acts = store.journal(FIRST.id).read().acts
    assert [act.path for act in acts if isinstance(act, Adding)] == ["conda-meta/pinned", *["conda-meta/history"] * 2]
    rollback(store)
    assert picture(store.prefix) == before


def test_revisions_since_stay_in_a_history_that_was_exchanged(tmp_path: Path) -> None:
    store = make(tmp_path / "env")
    set_up(store)
    with (store.prefix / "conda-meta/history").open("a") as history:
        history.write(later := "==> later <==\n+numpy\n")
    rollback(store)
    assert (store.prefix / "conda-meta/history").read_text() == f"one revision\n{later}"


def _of_a_setup(scenery: Path) -> dict[str, tuple[object, ...]]:
    store = make(scenery / "after" / "env")
    set_up(store)
    return live(store.prefix)
