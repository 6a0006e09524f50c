"""kill -9 at every change of the filesystem: afterwards, the environment is in its old or in its new state."""

from collections.abc import Callable, Iterator
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
    recover_all,
    set_up,
    set_up_again,
    steps_of,
    swift_directory,
)

from fastinstall.core import files
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.journal.undo import UndoResult

pytestmark = pytest.mark.main


@pytest.fixture(params=["exchange", "three renames"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with renameat2(RENAME_EXCHANGE), and again as on kernels and filesystems that lack it."""
    if request.param == "three renames":
        monkeypatch.setattr(files, "exchange", lambda _one, _other: False)


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


class Scene:
    """Makes a fresh environment for every kill."""

    def __init__(self, directory: Path, prepare: Callable[[JournalStore], None]) -> None:
        self.directory = directory
        self.prepare = prepare
        self.number = 0

    def store(self) -> JournalStore:
        self.number += 1
        store = make_environment(self.directory / str(self.number) / "env")
        self.prepare(store)
        return store


def nothing(_store: JournalStore) -> None:
    """Leave the environment as it is: fastinstall has never changed it."""


@pytest.mark.usefixtures("kernel")
def test_a_killed_setup_leaves_an_environment_as_before_or_after(scenery: Path) -> None:
    scene = Scene(scenery, nothing)
    before, after = _pictures(scene, set_up)
    outcomes = set()

    def cut(step: int) -> bool:
        store = scene.store()
        died = dies_at(step, lambda: set_up(store))
        recover_all(store)
        outcomes.add(_outcome(store, before, after, FIRST.id))
        return died

    steps = list(steps_of(cut))
    assert len(steps) > 50, "every change of the disk is counted"
    assert outcomes == {"before", "after"}


@pytest.mark.usefixtures("kernel")
def test_a_killed_setup_over_identical_content_is_as_harmless(scenery: Path) -> None:
    scene = Scene(scenery, set_up)
    before, after = _pictures(scene, set_up_again)
    outcomes = set()

    def cut(step: int) -> bool:
        store = scene.store()
        died = dies_at(step, lambda: set_up_again(store))
        recover_all(store)
        outcomes.add(_outcome(store, before, after, SECOND.id))
        return died

    assert len(list(steps_of(cut))) > 40
    assert outcomes == {"before", "after"}


@pytest.mark.usefixtures("kernel")
def test_a_killed_rollback_has_not_begun_or_is_completed(scenery: Path) -> None:
    scene = Scene(scenery, set_up)
    after, before = _pictures(scene, rollback)
    outcomes = set()

    def cut(step: int) -> bool:
        store = scene.store()
        died = dies_at(step, lambda: rollback(store))
        recover_all(store)
        outcomes.add(_outcome(store, before, after, FIRST.id))
        return died

    assert len(list(steps_of(cut))) > 30
    assert outcomes == {"before", "after"}


@pytest.mark.usefixtures("kernel")
def test_a_recovery_that_dies_is_taken_up_by_the_next_one(scenery: Path) -> None:
    scene = Scene(scenery, nothing)
    before = picture(scene.store().prefix, times=False)
    for death in _steps_that_leave_work(scene)[::32]:

        def cut(step: int, death: int = death) -> bool:
            store = scene.store()
            assert dies_at(death, lambda: set_up(store))
            died = dies_at(step, lambda: recover_all(store))
            recover_all(store)
            assert picture(store.prefix, times=False) == before
            return died

        assert list(steps_of(cut))


def test_files_restored_by_a_cut_rollback_are_not_called_foreign(scenery: Path) -> None:
    scene = Scene(scenery, set_up)
    restored = tuple(f"{SITE}/{name}" for name in ("PIL", "pillow.libs", "pillow-13.0.0.dist-info"))
    _, before = _pictures(scene, rollback)

    def cut(step: int) -> bool:
        store = scene.store()
        died = dies_at(step, lambda: rollback(store, force=True))
        recovered = recover(store, force=True, foreign_entries=restored)
        assert recovered is None or recovered.undone == UndoResult()
        if not store.transactions():
            assert _whole_or_live(store) == before
        return died

    assert list(steps_of(cut))


def _steps_that_leave_work(scene: Scene) -> list[int]:
    found: list[int] = []

    def cut(step: int) -> bool:
        store = scene.store()
        died = dies_at(step, lambda: set_up(store))
        if store.unfinished() is not None:
            found.append(step)
        return died

    list(steps_of(cut))
    return found


def _pictures(scene: Scene, work: Callable[[JournalStore], object]) -> tuple[dict[str, object], dict[str, object]]:
    """Return the environment's files before and after `work`; if there is a journal, only the live files."""
    store = scene.store()
    first = _whole_or_live(store)
    work(store)
    return first, _whole_or_live(store)


def _whole_or_live(store: JournalStore) -> dict[str, object]:
    return dict(live(store.prefix) if store.root.exists() else picture(store.prefix))


def _outcome(store: JournalStore, before: dict[str, object], after: dict[str, object], identifier: str) -> str:
    receipt = store.read_receipt()
    held = receipt is not None and receipt.id == identifier
    assert held == (identifier in [info.id for info in store.transactions()])
    assert _whole_or_live(store) == (after if held else before)
    assert not list(store.prefix.rglob(".fastinstall-*"))
    return "after" if held else "before"
