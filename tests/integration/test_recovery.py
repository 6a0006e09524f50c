"""After a run has died, commands that only read report it; commands that change the environment first recover."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    SITE,
    dies_at,
    make_environment,
    open_transaction,
    picture,
    set_up,
    steps_of,
    swap_moves,
    swift_directory,
    write_tree,
)
from support.suite import extent
from support.suite.golden import Golden

from fastinstall.core.errors import DocumentError, InterruptedAfterCompletion, RefusedError
from fastinstall.core.events import Event, Noted
from fastinstall.core.lock import lock_environment
from fastinstall.journal.layout import JOURNAL, TRANSACTIONS
from fastinstall.journal.rollback import rollback
from fastinstall.journal.snapshot import read_environment_history
from fastinstall.journal.store import JournalStore
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.observe.session import Session, open_session
from fastinstall.setup.recovery import (
    describe_interruptions,
    lock_recovered_environment,
    recover_environment,
    report_late_interruptions,
)

STRIDE = 1 if extent.every_row else 7
"""Stride over the disk changes at which a run is killed: all of them if every row is requested."""


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


class Scene:
    """An environment, and the messages of the sessions that worked on it."""

    def __init__(self, directory: Path) -> None:
        self.home, self.store = directory / "home", make_environment(directory / "env")
        self.environment = Environment(
            prefix=self.store.prefix, kind=EnvironmentKind.VENV, python=self.store.prefix / "bin/python"
        )
        self.heard: list[str] = []
        self.changes: list[str] = []

    @property
    def session(self) -> Session:
        return open_session({"HOME": str(self.home)}).listening(self._hear)

    def looks(self) -> dict[str, tuple[object, ...]]:
        """Return the environment's state, without times."""
        return picture(self.store.prefix, times=False)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Noted):
            self.heard.append(event.message)
            self.changes += [event.message] if event.changed else []


def test_a_recovery_that_dies_is_taken_up_by_the_next_one(scenery: Path) -> None:
    before = Scene(scenery / "plain").looks()

    def cut(step: int) -> bool:
        scene = Scene(scenery / str(step))
        transaction = open_transaction(scene.store)
        transaction.perform(swap_moves())  # the simulated run dies here, before its commit
        died = dies_at(step, lambda: recover_environment(scene.session, scene.environment))
        recover_environment(scene.session, scene.environment)
        assert scene.looks() == before
        return died

    assert len(list(steps_of(cut, stride=STRIDE))) > 5


def test_one_sentence_names_the_interruption_and_the_state_now(tmp_path: Path, golden: Golden) -> None:
    scene = Scene(tmp_path)
    open_transaction(scene.store).perform(swap_moves())
    where = scene.store.prefix
    (sentence,) = describe_interruptions(scene.environment)
    command = f"fastinstall rollback --interrupted --yes --prefix {where}"
    assert sentence.endswith(f": {command}")
    golden(sentence.removesuffix(command), "before")
    assert recover_environment(scene.session, scene.environment)
    golden("\n".join(scene.heard), "after")
    assert not recover_environment(scene.session, scene.environment)


def test_a_rollback_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "one")
    before = scene.looks()
    set_up(scene.store)
    journal = scene.store.directory(FIRST.id) / JOURNAL
    journal.write_text(f'{journal.read_text()}{{"event":"undoing","reason":"rollback"}}\n')
    assert recover_environment(scene.session, scene.environment)
    told = f"undoing the setup of {FIRST.at} had been interrupted; it is finished"
    assert scene.heard == [f"{told}: the environment is restored"]
    assert scene.looks() == before


def test_what_was_only_begun_is_cleared_away(scenery: Path) -> None:
    scene = Scene(scenery)
    before = scene.looks()
    found = set()
    for step in range(0, 40, 2):
        dies_at(step, lambda: open_transaction(scene.store))
        if describe_interruptions(scene.environment) and scene.store.unfinished() is None:
            found.add(describe_interruptions(scene.environment)[0].partition(";")[0])
            assert recover_environment(scene.session, scene.environment)
            assert scene.heard.pop().endswith("its leftovers are removed")
        else:
            recover_environment(scene.session, scene.environment)
        assert scene.looks() == before
    assert f"the setup of {FIRST.at} was interrupted" in found


def test_a_run_at_work_is_not_taken_for_a_dead_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    open_transaction(scene.store).perform(swap_moves())
    before = scene.looks()
    with lock_environment(scene.store.prefix):
        assert describe_interruptions(scene.environment) == ()
        assert not recover_environment(scene.session, scene.environment)
        with (
            pytest.raises(RefusedError, match="is working on this environment"),
            lock_recovered_environment(scene.session, scene.environment),
        ):
            pass
    assert scene.looks() == before


def test_early_interrupts_change_nothing_and_late_ones_say_so(tmp_path: Path) -> None:
    store: JournalStore = make_environment(tmp_path / "env")
    with pytest.raises(KeyboardInterrupt) as caught, report_late_interruptions(store.prefix, "setup"):
        _interrupted_before_its_commit(store)
    assert not isinstance(caught.value, InterruptedAfterCompletion)
    for verb, work in (("setup", set_up), ("rollback", rollback)):
        with pytest.raises(InterruptedAfterCompletion, match=f"interrupted after the {verb} was done"):
            _interrupted_after(work, store, verb)


def _interrupted_after(work: Callable[[JournalStore], object], store: JournalStore, verb: str) -> None:
    with report_late_interruptions(store.prefix, verb):
        work(store)
        raise KeyboardInterrupt


def _interrupted_before_its_commit(store: JournalStore) -> None:
    with open_transaction(store) as transaction:
        transaction.perform(swap_moves())
        raise KeyboardInterrupt


def _bring_back(scene: Scene, *, work: str = f"{TRANSACTIONS}/{FIRST.id}") -> Path:
    """Recreate directories with bytecode in them, as a `compileall` that outlives its parent does."""
    directory = scene.store.prefix / work
    write_tree(directory, {"stage/PIL/__pycache__/Image.cpython-311.pyc": "", "stage/__pycache__/a.pyc.140231": ""})
    return directory


def test_a_directory_an_orphan_recreated_is_removed_and_reported(scenery: Path) -> None:
    scene = Scene(scenery)
    before = scene.looks()
    directory = _bring_back(scene)
    (sentence,) = describe_interruptions(scene.environment)
    assert FIRST.at in sentence
    assert JournalStore(scene.store.prefix).unreadable() == ()
    assert read_environment_history(scene.store.prefix, sized=False).unreadable == ()
    assert recover_environment(scene.session, scene.environment)
    assert len(scene.heard) == 1
    assert not directory.exists()
    assert scene.looks() == before
    assert not recover_environment(scene.session, scene.environment)


def test_an_orphans_directory_stops_no_rollback(scenery: Path) -> None:
    scene = Scene(scenery)
    before = scene.looks()
    set_up(scene.store)
    (scene.store.transactions_directory / "20261121T101500Z-0000aa").mkdir()
    _bring_back(scene, work=f"{TRANSACTIONS}/20261121T101500Z-0000ab")
    with lock_recovered_environment(scene.session, scene.environment) as locked:
        rollback(locked.store)
    assert scene.looks() == before


def test_an_orphans_directory_beside_packages_is_removed(scenery: Path) -> None:
    scene = Scene(scenery)
    before = scene.looks()
    _bring_back(scene, work=f"{SITE}/.fastinstall-{FIRST.id}")
    with lock_recovered_environment(scene.session, scene.environment):
        pass
    assert scene.looks() == before


@pytest.mark.parametrize("kept", ["aside/PIL/__init__.py", "stage/PIL/_imaging.so", "plan.json"])
def test_a_transaction_that_lost_its_journal_stays(scenery: Path, kept: str) -> None:
    scene = Scene(scenery)
    directory = _bring_back(scene)
    write_tree(directory, {kept: "somebody's"})
    before = scene.looks()
    assert describe_interruptions(scene.environment) == ()
    assert not recover_environment(scene.session, scene.environment)
    with pytest.raises(DocumentError), lock_recovered_environment(scene.session, scene.environment):
        JournalStore(scene.store.prefix).read(FIRST.id)
    assert scene.looks() == before


def test_a_link_in_an_orphans_directory_is_not_followed(scenery: Path) -> None:
    scene = Scene(scenery)
    (scenery / "mine").mkdir()
    (_bring_back(scene) / "stage/link").symlink_to(scenery / "mine")
    assert not recover_environment(scene.session, scene.environment)
    assert (scenery / "mine").is_dir()
