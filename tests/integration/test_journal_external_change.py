"""Changes by a package engine within our transaction are undone offline and to the byte; other files stay."""

import json
import os
from pathlib import Path

import pytest
from support.conda.miniature import (
    CONTENTS,
    HISTORY,
    JPEG,
    NEW,
    OLD,
    REPLACED,
    TOOL,
    FakeEngine,
    change_and_commit,
    change_in,
    make_conda_environment,
    open_in,
)
from support.journal.environments import (
    FIRST,
    OLD_TIME,
    SITE,
    fill,
    in_own_mounts,
    live,
    picture,
    receipt_of,
    write_tree,
)
from support.machine.own_mounts import mount

from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.journal.entries import ExternalChange
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.model.conda import CondaChange
from fastinstall.model.history import Move, MoveKind

LATER = "==> 2026-11-22 10:00:00 <==\n+numpy-2.0-0\n"


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    return make_conda_environment(tmp_path / "env with spaces é")


def test_the_engine_does_its_work(store: JournalStore) -> None:
    change_and_commit(store)
    assert (store.prefix / "lib/libjpeg.so").read_text() == "turbo 3"
    assert not (store.prefix / "share/doc/turbo/old").exists()
    assert sorted(path.name for path in (store.prefix / "conda-meta").glob("*.json")) == ["turbo-3.0-0.json"]
    (info,) = store.transactions()
    assert {"lib/libjpeg.so", HISTORY, "conda-meta/turbo-2.0-0.json"} <= store.journal(info.id).read().begun_changes[
        0
    ].paths
    assert info.held_bytes > 0


def test_a_rollback_restores_files_records_links_modes_and_times(store: JournalStore) -> None:
    before = picture(store.prefix)
    change_and_commit(store)
    assert rollback(store).lost == ()
    assert picture(store.prefix) == before


@pytest.mark.parametrize(
    "change",
    [
        CondaChange(linked=(OLD,), unlinked=(OLD,)),
        CondaChange(unlinked=(JPEG,)),
        CondaChange(linked=(TOOL,)),
        CondaChange(linked=(TOOL, NEW), unlinked=(OLD, JPEG)),
    ],
    ids=["reinstalled", "removed", "added", "replaced"],
)
def test_whatever_came_or_went_the_way_back_is_the_same(store: JournalStore, change: CondaChange) -> None:
    before = picture(store.prefix)
    change_and_commit(store, change)
    assert picture(store.prefix) != before
    rollback(store)
    assert picture(store.prefix) == before


def test_an_engine_that_fails_halfway_is_undone_at_once(store: JournalStore) -> None:
    before = picture(store.prefix)
    with pytest.raises(FailedError, match="No space left"), open_in(store) as transaction:
        change_in(store, transaction, FakeEngine(fails=True))
    assert picture(store.prefix) == before


def test_what_nobody_asked_for_is_a_failure_and_goes_again(store: JournalStore) -> None:
    before = picture(store.prefix, times=False)
    with pytest.raises(FailedError, match="something other than planned") as caught, open_in(store) as transaction:
        change_in(store, transaction, FakeEngine(extra=TOOL))
    assert caught.value.details == ("present but not planned: tool-1.0-0",)
    assert picture(store.prefix, times=False) == before


def test_an_absent_package_is_reported_before_anything_happens(store: JournalStore) -> None:
    before = picture(store.prefix)
    with pytest.raises(FailedError, match=r"turbo-3\.0-0 is not installed"), open_in(store) as transaction:
        change_in(store, transaction, FakeEngine(), CondaChange(unlinked=(NEW,)))
    assert picture(store.prefix) == before


def test_an_unreadable_record_is_named_before_anything_happens(store: JournalStore) -> None:
    (store.prefix / "conda-meta/jpeg-9e-0.json").write_text("{")
    with pytest.raises(FailedError, match=r"jpeg-9e-0\.json: cannot be read"), open_in(store) as transaction:
        change_in(store, transaction, FakeEngine())


def test_a_path_outside_of_the_environment_is_turned_down(store: JournalStore) -> None:
    with open_in(store) as transaction, pytest.raises(FailedError, match="not a path inside"):
        transaction.run_external_change(ExternalChange(copies=("../other",), appearing=()), lambda: None)


def test_what_conda_has_noted_since_stays_in_its_history(store: JournalStore) -> None:
    before = (store.prefix / HISTORY).read_text()
    change_and_commit(store)
    with (store.prefix / HISTORY).open("a") as history:
        history.write(LATER)
    rollback(store)
    assert (store.prefix / HISTORY).read_text() == before + LATER


def test_a_history_that_the_engine_left_alone_is_left_alone(store: JournalStore) -> None:
    with open_in(store) as transaction:
        change_in(store, transaction, FakeEngine(silent=True))
        transaction.commit(receipt_of(FIRST))
    (store.prefix / HISTORY).write_text("rewritten by its owner")
    rollback(store)
    assert (store.prefix / HISTORY).read_text() == "rewritten by its owner"


def test_pins_changed_since_are_their_owners(store: JournalStore) -> None:
    change_and_commit(store)
    (store.prefix / "conda-meta/pinned").write_text("numpy 2.*\n")
    rollback(store)
    assert (store.prefix / "conda-meta/pinned").read_text() == "numpy 2.*\n"


def test_a_file_changed_by_a_user_blocks_a_rollback_and_is_named(store: JournalStore) -> None:
    change_and_commit(store)
    (store.prefix / "lib/libjpeg.so").write_text("my own build")
    before = picture(store.prefix)
    with pytest.raises(RefusedError, match=r"lib/libjpeg\.so: in the way"):
        rollback(store)
    assert picture(store.prefix) == before
    kept = rollback(store, force=True).kept
    assert [Path(path).read_text() for path in kept] == ["my own build"]
    assert (store.prefix / "lib/libjpeg.so").read_text() == "IJG"


def test_a_record_that_an_engine_wrote_anew_is_still_ours(store: JournalStore) -> None:
    before = picture(store.prefix)
    change_and_commit(store)
    record = store.prefix / "conda-meta/turbo-3.0-0.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "requested_specs": ["turbo"]}))
    rollback(store)
    assert picture(store.prefix) == before


def test_files_added_since_stay(store: JournalStore) -> None:
    change_and_commit(store)
    write_tree(store.prefix, {"share/doc/turbo/new/mine": "mine", f"{SITE}/numpy.py": "numpy"})
    rollback(store)
    assert (store.prefix / "share/doc/turbo/new/mine").read_text() == "mine"
    assert (store.prefix / f"{SITE}/numpy.py").exists()
    assert not (store.prefix / "share/doc/turbo/new/README").exists()


def test_bytecode_that_python_wrote_since_goes_with_its_module(store: JournalStore) -> None:
    before = picture(store.prefix)
    change_and_commit(store, CondaChange(linked=(TOOL, NEW), unlinked=(OLD, JPEG)))
    write_tree(store.prefix / SITE / "__pycache__", {"turbo.cpython-311.pyc": "again", "tool.cpython-311.pyc": "tool"})
    rollback(store)
    assert live(store.prefix) == {path: (*look[:2], None) for path, look in before.items() if path != "share"}


def test_a_later_version_blocks_rollback_or_is_forced_aside(store: JournalStore) -> None:
    before = {path: (*look[:2], None) for path, look in picture(store.prefix).items()}
    change_and_commit(store)
    later = FakeEngine(contents_of={**CONTENTS, "turbo-4.0-0": {"lib/libjpeg.so": "turbo 4", "lib/four": "4"}})
    four = OLD.__class__(name="turbo", version="4.0", build="0")
    later.change(store.prefix, CondaChange(linked=(four,), unlinked=(NEW,)))
    with pytest.raises(RefusedError, match=r"turbo-4\.0-0\.json"):
        rollback(store)
    kept = {path.name for path in rollback(store, force=True).kept}
    assert kept == {"libjpeg.so", "four", "turbo-4.0-0.json"}
    after = live(store.prefix)
    assert after.pop(HISTORY) != before.pop(HISTORY)
    assert after == {path: look for path, look in before.items() if path != "share"}


def test_a_forced_rollback_restores_files_the_engine_left_alone(store: JournalStore) -> None:
    """The file is the same in turbo 2.0 and 3.0, so the setup left it alone; turbo 4.0, installed later, lacks it."""
    same = {"turbo-3.0-0": CONTENTS["turbo-2.0-0"], "turbo-4.0-0": {"lib/four": ""}}
    linked = store.prefix / "lib/libturbojpeg.so.0"
    with open_in(store) as transaction:
        change = ExternalChange(
            copies=("lib/libturbojpeg.so.0", "conda-meta/turbo-2.0-0.json"), appearing=("conda-meta/turbo-3.0-0.json",)
        )
        transaction.run_external_change(change, lambda: _rename_record(store))
        transaction.commit(receipt_of(FIRST))
    four = NEW.__class__(name="turbo", version="4.0", build="0")
    FakeEngine(contents_of=same).change(store.prefix, CondaChange(linked=(four,), unlinked=(NEW,)))
    assert not linked.exists()
    rollback(store, force=True)
    assert linked.read_text() == "turbo 2 API"
    assert not (store.prefix / "lib/four").exists()


def test_moves_and_engine_changes_are_undone_in_reverse_order(store: JournalStore) -> None:
    before = picture(store.prefix)
    with open_in(store) as transaction:
        write_tree(transaction.stage, {"a/lib": "first", "b/lib": "second", "b/turbo": "third", "made": "made"})
        transaction.perform((Move(kind=MoveKind.EXCHANGE, live="lib/libjpeg.so", kept="stage/a/lib"),))
        change_in(store, transaction, FakeEngine())
        transaction.perform(
            (
                Move(kind=MoveKind.EXCHANGE, live="lib/libjpeg.so", kept="stage/b/lib"),
                Move(kind=MoveKind.OUT, live="share/doc/turbo/new", kept="aside/new/directory"),
                Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/turbo.py", kept="stage/b/turbo"),
                Move(kind=MoveKind.IN, live="share/doc/made", kept="stage/made"),
            )
        )
        change_in(store, transaction, FakeEngine(), CondaChange(unlinked=(NEW,)))
        transaction.commit(receipt_of(FIRST))
    assert not (store.prefix / "lib/libjpeg.so").exists()
    assert rollback(store).lost == ()
    assert picture(store.prefix) == before


def test_copies_share_nothing_with_what_an_engine_may_write_into(store: JournalStore) -> None:
    history = store.prefix / HISTORY
    before = history.read_text()
    with open_in(store) as transaction:
        transaction.run_external_change(ExternalChange(copies=(), appearing=()), lambda: _overwrite(history))
        transaction.undo("tried")
    assert history.read_text() == before


def test_an_environment_without_a_history_ends_without_one(tmp_path: Path) -> None:
    store = JournalStore(tmp_path / "env")
    write_tree(store.prefix, {f"{SITE}/x.py": "x", "conda-meta/note": "kept"})
    before = picture(store.prefix)
    change_and_commit(store, CondaChange(linked=(TOOL,)))
    assert (store.prefix / HISTORY).exists()
    rollback(store)
    assert picture(store.prefix) == before


def test_recovery_over_a_users_later_install_is_refused_by_name(
    store: JournalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process died after conda had removed a package. The user then installed another version of it by hand."""
    transaction = open_in(store)
    monkeypatch.setattr("fastinstall.journal.external_changes.outcome", _die)
    with pytest.raises(OSError, match="No space left"):
        change_in(store, transaction, FakeEngine(fails=True))
    later = FakeEngine(contents_of={"turbo-4.0-0": {"lib/libjpeg.so": "turbo 4"}})
    later.bring(store.prefix, OLD.__class__(name="turbo", version="4.0", build="0"))
    with pytest.raises(RefusedError, match=r"turbo-4\.0-0\.json and lib/libjpeg\.so"):
        recover(store)
    assert (store.prefix / "lib/libjpeg.so").read_text() == "turbo 4"


@pytest.mark.parametrize("elsewhere", [SITE, "conda-meta", "lib"])
def test_directories_on_filesystems_of_their_own(tmp_path: Path, elsewhere: str) -> None:
    def scenario() -> None:
        prefix = tmp_path / "env"
        (prefix / elsewhere).mkdir(parents=True)
        mount("tmpfs", prefix / elsewhere)
        store = make_conda_environment(prefix)
        before = picture(prefix)
        change_and_commit(store, CondaChange(linked=(TOOL, NEW), unlinked=(OLD, JPEG)))
        assert (prefix / "lib/libjpeg.so").read_text() == "turbo 3"
        rollback(store)
        assert picture(prefix) == before

    in_own_mounts(scenario)


def test_a_full_disk_ends_in_the_environment_as_it_was(tmp_path: Path) -> None:
    def scenario() -> None:
        prefix = tmp_path / "env"
        prefix.mkdir()
        mount("tmpfs", prefix, "size=512k")
        store = make_conda_environment(prefix)
        before = picture(prefix)
        failures = 0
        for room in range(0, 400_000, 4096):
            fill(prefix / "ballast", leave=room)
            try:
                change_and_commit(store)
            except (FastinstallError, OSError):
                failures += 1
                (prefix / "ballast").unlink()
                os.utime(prefix, ns=(OLD_TIME, OLD_TIME))
                assert picture(prefix) == before, f"with {room} bytes left"
            else:
                break
        assert failures > 10, "never too little room"
        (prefix / "ballast").unlink()
        rollback(store)
        assert picture(prefix, times=False) == {path: (*look[:2], None) for path, look in before.items()}

    in_own_mounts(scenario)


def test_files_of_a_lower_layer_come_back(tmp_path: Path) -> None:
    def scenario() -> None:
        mount("tmpfs", tmp_path)
        before = picture(make_conda_environment(tmp_path / "lower").prefix)
        for name in ("upper", "work", "merged"):
            (tmp_path / name).mkdir()
        options = f"lowerdir={tmp_path / 'lower'},upperdir={tmp_path / 'upper'},workdir={tmp_path / 'work'}"
        mount("overlay", tmp_path / "merged", options)
        store = JournalStore(tmp_path / "merged")
        change_and_commit(store)
        rollback(store)
        assert picture(store.prefix) == before

    in_own_mounts(scenario)


def test_a_hard_link_of_the_engines_cache_is_not_written_into(store: JournalStore, tmp_path: Path) -> None:
    cached, linked = tmp_path / "cached", store.prefix / "lib/libturbojpeg.so.0"
    linked.unlink()
    cached.write_text("turbo 2 API")
    os.link(cached, linked)
    change_and_commit(store, REPLACED)
    rollback(store)
    assert (cached.read_text(), linked.read_text()) == ("turbo 2 API", "turbo 2 API")


def _rename_record(store: JournalStore) -> None:
    (store.prefix / "conda-meta/turbo-2.0-0.json").rename(store.prefix / "conda-meta/turbo-3.0-0.json")


def _overwrite(path: Path) -> None:
    path.write_text("overwritten in its place")


def _die(*_arguments: object) -> None:
    raise OSError(28, "the disk is full: what the engine did is not noted")
