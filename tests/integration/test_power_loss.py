"""A power failure at any moment of a verb: recovery restores the old or the new state, and keeps finished changes.

The model of the disk is in tests/faults/power.py. `--every-row` tries every state that a disk may have after the
failure. Otherwise, long verbs are only sampled.
"""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults.power_trial import Sample, difference, record, try_all
from support.conda.miniature import FakeEngine, change_in, change_of_all_kinds, make_conda_environment, open_in
from support.journal.environments import (
    FIRST,
    SECOND,
    SITE,
    dies_at,
    live,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    set_up,
    set_up_again,
    steps_of,
    swap_moves,
    swift_directory,
    write_tree,
)
from support.suite import extent

from fastinstall.core import files
from fastinstall.journal import external_changes, transaction_directories
from fastinstall.journal.forget import forget
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin

_ALL, _LONG = Sample(), Sample(every=5, limit=12)
_API = "libturbojpeg.so"
Looks = dict[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A verb that a power failure cuts off.

    Attributes:
        make: creates the environment.
        prepare: earlier changes, made before the verb.
        verb: the verb that is cut off.
        force: whether recovery may move files of other programs aside.
        way_back: whether the test rolls the verb back if recovery has finished it.
        sample: the selection of possible disk states that is tried without `--every-row`.
    """

    verb: Callable[[JournalStore], object]
    make: Callable[[Path], JournalStore] = make_environment
    prepare: tuple[Callable[[JournalStore], object], ...] = ()
    force: bool = False
    way_back: bool = False
    sample: Sample = _ALL


def change(store: JournalStore) -> None:
    """Add a library, let an engine replace it, put our library back, and append text to a file."""
    with open_in(store) as transaction:
        change_of_all_kinds(store, transaction)
        transaction.add("pip.conf", "[global]\n")
        transaction.commit(receipt_of(FIRST))


def retire(store: JournalStore) -> None:
    """Withdraw the receipt."""
    with begin(store, {"verb": "guard remove"}, site_packages=store.prefix / SITE, stamp=SECOND) as transaction:
        transaction.retire(SECOND.at)


def meddle(store: JournalStore) -> None:
    """Add files of another program to our directories."""
    write_tree(store.prefix / SITE, {"PIL/strange.py": "strange", "pillow.libs/deep/other.so": "strange"})


def abandon(store: JournalStore) -> None:
    """Leave a setup that died before its commit."""
    open_transaction(store).perform(swap_moves())


def abandon_engine(store: JournalStore) -> None:
    """Leave a setup that died while an engine was changing the environment."""

    class Dying(FakeEngine):
        def _note(self, *_arguments: object) -> None:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_changes, "outcome", _dead)
        with pytest.raises(KeyboardInterrupt):
            change_in(store, open_in(store), Dying())


def finish(store: JournalStore) -> None:
    """Recover, as the next command does."""
    recover(store)


def _dead(*_arguments: object) -> None:
    raise OSError(errno.EIO, "dead already")


_SCENES = {
    "setup": Scene(verb=set_up, way_back=True),
    "setup over ours": Scene(verb=set_up_again, prepare=(set_up,), way_back=True, sample=Sample(every=3, limit=15)),
    "rollback": Scene(verb=rollback, prepare=(set_up,)),
    "forced rollback": Scene(verb=lambda store: rollback(store, force=True), prepare=(set_up, meddle), force=True),
    "removal of the receipt": Scene(verb=retire, prepare=(set_up,), way_back=True),
    "forgetting": Scene(verb=lambda store: forget(store, FIRST.id), prepare=(set_up,)),
    "recovery": Scene(verb=finish, prepare=(abandon,)),
    "engine": Scene(verb=change, make=make_conda_environment, way_back=True, sample=_LONG),
    "rollback of an engine": Scene(verb=rollback, make=make_conda_environment, prepare=(change,), sample=_LONG),
    "recovery of an engine": Scene(
        verb=finish, make=make_conda_environment, prepare=(abandon_engine,), sample=Sample(every=3, limit=12)
    ),
}


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's files."""
    with swift_directory(tmp_path) as directory:
        yield directory


@pytest.mark.parametrize("name", _SCENES)
def test_nothing_is_lost_to_a_power_failure(name: str, scenery: Path) -> None:
    _try(_SCENES[name], scenery)


@pytest.mark.parametrize("name", ["setup", "rollback"])
def test_nothing_is_lost_where_entries_cannot_be_exchanged(
    name: str, scenery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "exchange", lambda _one, _other: False)
    _try(_SCENES[name], scenery, Sample(every=3, first=1))


@pytest.mark.parametrize("name", ["setup", "rollback"])
def test_nothing_is_lost_where_the_stage_lies_in_site_packages(
    name: str, scenery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_directories, "_is_one_mount", lambda _one, _other: False)
    _try(_SCENES[name], scenery, Sample(every=4))


@pytest.mark.parametrize("name", ["setup", "rollback"])
def test_nothing_is_lost_where_directories_cannot_be_renamed(
    name: str, scenery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an overlay, trees are moved file by file and get other inodes; a power failure may leave duplicates."""
    real = files.rename

    def rename(source: Path, target: Path) -> None:
        if source.is_dir() and not source.is_symlink():
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source))
        real(source, target)

    def exchange(one: Path, _other: Path) -> bool:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(one))

    monkeypatch.setattr(files, "rename", rename)
    monkeypatch.setattr(files, "exchange", exchange)
    _try(_SCENES[name], scenery, Sample(every=6, limit=12), times=False)


def test_a_link_that_lost_its_time_returns_even_if_recovery_dies(scenery: Path) -> None:
    """No call forces the times of a symbolic link to the disk, so a power failure may lose them."""
    numbers = iter(range(10_000))
    links = {
        f"lib/{name}": target for name, target in (("libjpeg.so.9", "libjpeg.so"), ("libturbojpeg.so", f"{_API}.0"))
    }

    def cut(step: int) -> bool:
        store = make_conda_environment(scenery / str(next(numbers)) / "env")
        abandon_engine(store)
        for copy in store.root.glob("tx/*/aside/external-change-0/copies/*"):
            if copy.is_symlink():
                os.utime(copy, ns=(0, 0), follow_symlinks=False)
        died = dies_at(step, lambda: recover(store))
        recover(store)
        assert {path: str((store.prefix / path).readlink()) for path in links} == links
        return died

    assert list(steps_of(cut, 4))


def _try(scene: Scene, scenery: Path, sample: Sample | None = None, *, times: bool = True) -> None:
    origin = scenery / "origin"
    store = scene.make(origin / "env")
    for each in scene.prepare:
        each(store)
    before = _look(store, times=times)
    recording = record(origin, lambda: scene.verb(store))
    assert not difference(recording, origin), "every call that changed the disk was seen"
    after = _look(store, times=times)

    def judge(top: Path) -> str:
        found = JournalStore(top / "env")
        recover(found, force=scene.force)
        assert found.unfinished() is None
        assert not [path for path in found.prefix.rglob(".fastinstall-*") if not path.is_dir()]
        verdict = _compared(_look(found, times=times), before, after)
        if verdict == "after" and scene.way_back:
            rollback(found)
            assert _look(found, times=times) == before, "the way back is there, too"
        return verdict

    everything = extent.every_row
    chosen = Sample(random=20) if everything else sample or scene.sample
    outcomes = try_all(recording, scenery, judge, chosen)
    assert not outcomes.lost, str(outcomes)
    assert outcomes.found.keys() <= {"before", "after"}
    assert outcomes.ended.keys() == {"after"}, "what was said to be done is done"


def _compared(found: Looks, before: Looks, after: Looks) -> str:
    for name, looks in (("after", after), ("before", before)):
        if found == looks:
            return name
    wrong = [
        [path for path in sorted({*found, *looks}) if found.get(path) != looks.get(path)] for looks in (before, after)
    ]
    raise AssertionError(f"neither before nor after: {min(wrong, key=len)[:8]}")


def _look(store: JournalStore, *, times: bool) -> Looks:
    """Return live files and our records; `times` adds times of regular files only, because others may get lost."""
    shown = live(store.prefix)
    whole = picture(store.prefix)
    looks = {path: _less(look, times=times) for path, look in whole.items() if path in shown or not store.root.exists()}
    transactions = sorted(path.name for path in store.root.glob("tx/*"))
    receipt = store.read_receipt()
    kept = sorted(path.read_text() for path in store.root.glob("kept/**/*") if path.is_file())
    return {**looks, "": (receipt.id if receipt is not None else "", *transactions, *kept)}


def _less(look: tuple[object, ...], *, times: bool) -> tuple[object, ...]:
    return look if times and str(look[0]).startswith("-") else look[:2]
