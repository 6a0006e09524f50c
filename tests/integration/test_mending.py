"""What a dead run left is told by those who look, and brought to its end by those who change anything."""

import json
import venv
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import extent
import pytest
from journaled import (
    FIRST,
    SITE,
    dies_at,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    set_up,
    steps_of,
    swap_moves,
    swift_directory,
    write_tree,
)
from sandbox import Sandbox

from fastinstall.apply.recovery import (
    Unpinning,
    describe_interruptions,
    lock_recovered_environment,
    recover_environment,
    report_late_interruptions,
)
from fastinstall.core.errors import ExitCode, InterruptedAfterCompletion, RefusedError
from fastinstall.core.events import Event, Noted
from fastinstall.core.lock import lock_environment
from fastinstall.journal.layout import JOURNAL, PROJECT
from fastinstall.journal.recover import rollback
from fastinstall.journal.store import JournalStore
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.model.request import Environment, EnvironmentKind
from fastinstall.observe.session import Session, open_session
from fastinstall.pins import project_files as project_pin
from fastinstall.pins.project_files import PinRecord, PinStage
from fastinstall.pins.recognition import project_of

STRIDE = 1 if extent.every_row else 7
"""Of the changes of the disk, which ones die; every one where all rows are asked for."""

MANIFEST = {"pyproject.toml": "[project]\nname = 'gallery'\n", "uv.lock": "version = 1\n"}
PINNED = {"pyproject.toml": b"[project]\nname = 'gallery'\n# pinned\n", "uv.lock": b"version = 1\n# pinned\n"}


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Where the environments of a test lie."""
    with swift_directory(tmp_path) as directory:
        yield directory


class Scene:
    """An environment in a project, and what is said of it."""

    def __init__(self, directory: Path) -> None:
        self.project, self.home = directory / "gallery", directory / "home"
        self.store = make_environment(self.project / "env")
        write_tree(self.project, MANIFEST)
        self.environment = Environment(
            prefix=self.store.prefix, kind=EnvironmentKind.VENV, python=self.store.prefix / "bin/python"
        )
        self.heard: list[str] = []
        self.changes: list[str] = []

    @property
    def session(self) -> Session:
        return open_session({"HOME": str(self.home)}).listening(self._hear)

    def looks(self) -> dict[str, tuple[object, ...]]:
        """The project and the environment in it; of times only those below the project itself."""
        return picture(self.project, times=False)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Noted):
            self.heard.append(event.message)
            self.changes += [event.message] if event.changed else []


def _pin(scene: Scene, *, version: str = "") -> None:
    receipt = receipt_of(FIRST)
    record = PinRecord(
        stage=PinStage.PINNING,
        at=FIRST.at,
        tool_version="0.1.0",
        prefix=Path("env"),
        manager="uv",
        requirement=f"{receipt.distribution}=={version or receipt.version}",
        payload={},
        files=(),
        additions=(),
        pieces=(),
    )
    project_pin.write_project_pin(scene.project, record, {}, PINNED, scene.session.begun_pins)


def _set_up_with_pin(scene: Scene) -> None:
    """As `setup --pin` does it: the note, the project's pin, and then the commit."""
    with open_transaction(scene.store) as transaction:
        transaction.perform(swap_moves())
        transaction.add(PROJECT, f"{scene.project}\n")
        _pin(scene)
        transaction.commit(receipt_of(FIRST))


def test_a_setup_that_dies_takes_the_pin_of_its_project_with_it(scenery: Path) -> None:
    outcomes = set()
    before, after = Scene(scenery / "plain"), Scene(scenery / "pinned")
    _set_up_with_pin(after)

    def cut(step: int) -> bool:
        scene = Scene(scenery / str(step))
        died = dies_at(step, lambda: _set_up_with_pin(scene))
        told = describe_interruptions(scene.session, scene.environment)
        assert recover_environment(scene.session, scene.environment) == bool(told)
        assert not describe_interruptions(scene.session, scene.environment)
        assert bool(scene.heard) == bool(told)
        held = scene.store.read_receipt() is not None
        assert set(scene.looks()) == set((after if held else before).looks())
        assert (scene.project / "uv.lock").read_bytes() == (PINNED if held else _plain())["uv.lock"]
        outcomes.add(held)
        return died

    assert len(list(steps_of(cut, stride=STRIDE))) > 15
    assert outcomes == {True, False}


def _plain() -> dict[str, bytes]:
    return {name: text.encode() for name, text in MANIFEST.items()}


def test_a_mending_that_dies_is_taken_up_by_the_next_one(scenery: Path) -> None:
    before = Scene(scenery / "plain").looks()

    def cut(step: int) -> bool:
        scene = Scene(scenery / str(step))
        transaction = open_transaction(scene.store)
        transaction.perform(swap_moves())
        transaction.add(PROJECT, f"{scene.project}\n")
        _pin(scene)  # and here it dies
        died = dies_at(step, lambda: recover_environment(scene.session, scene.environment))
        recover_environment(scene.session, scene.environment)
        assert scene.looks() == before
        return died

    assert len(list(steps_of(cut, stride=STRIDE))) > 10


def test_one_sentence_says_what_was_interrupted_and_how_things_are(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    open_transaction(scene.store).perform(swap_moves())
    where = scene.store.prefix
    sentence = f"the setup of {FIRST.at} was interrupted; to restore the environment"
    assert describe_interruptions(scene.session, scene.environment) == (
        f"{sentence}: fastinstall rollback --interrupted --yes --prefix {where}",
    )
    assert recover_environment(scene.session, scene.environment)
    assert scene.heard == [f"the setup of {FIRST.at} had been interrupted; the environment is restored"]
    assert not recover_environment(scene.session, scene.environment)


def test_a_rollback_that_was_cut_off_is_finished_with_the_pin_of_the_project(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "one")
    before = scene.looks()
    _set_up_with_pin(scene)
    journal = scene.store.directory(FIRST.id) / JOURNAL
    journal.write_text(f'{journal.read_text()}{{"event":"undoing","reason":"rollback"}}\n')
    assert recover_environment(scene.session, scene.environment)
    told = f"undoing the setup of {FIRST.at} had been interrupted; it is finished"
    assert scene.heard == [
        f"{told}: the environment is restored",
        f"removed: the pin of {scene.project}",
    ]
    assert scene.looks() == before


def test_what_was_only_begun_is_cleared_away(scenery: Path) -> None:
    scene = Scene(scenery)
    before = scene.looks()
    found = set()
    for step in range(0, 40, 2):
        dies_at(step, lambda: open_transaction(scene.store))
        if describe_interruptions(scene.session, scene.environment) and scene.store.unfinished() is None:
            found.add(describe_interruptions(scene.session, scene.environment)[0].partition(";")[0])
            assert recover_environment(scene.session, scene.environment)
            assert scene.heard.pop().endswith("it had changed nothing; its leftovers are removed")
        else:
            recover_environment(scene.session, scene.environment)
        assert scene.looks() == before
    assert f"the setup of {FIRST.at} was interrupted" in found


def test_a_run_at_work_is_not_taken_for_a_dead_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    open_transaction(scene.store).perform(swap_moves())
    before = scene.looks()
    with lock_environment(scene.store.prefix):
        assert describe_interruptions(scene.session, scene.environment) == ()
        assert not recover_environment(scene.session, scene.environment)
        with (
            pytest.raises(RefusedError, match="is working on this environment"),
            lock_recovered_environment(scene.session, scene.environment),
        ):
            pass
    assert scene.looks() == before


def test_a_pin_that_was_cut_short_is_told_and_finished(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    _set_up_with_pin(scene)
    record = project_pin.read_record(scene.project)
    assert record is not None
    project_pin._write(scene.project, replace(record, stage=PinStage.UNPINNING), scene.session.begun_pins)
    (notice,) = describe_interruptions(scene.session, scene.environment)
    assert notice.startswith(f"a change of the pin in {scene.project} was interrupted; to finish it: ")
    assert recover_environment(scene.session, scene.environment)
    assert scene.heard == [f"a change of the pin in {scene.project} had been interrupted; it is finished"]
    assert not (scene.project / ".fastinstall").exists()


def test_a_pin_that_is_another_after_the_recovery_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    _set_up_with_pin(scene)
    transaction = open_transaction(scene.store, replace(FIRST, id="20261121T101500Z-0000aa"))
    write_tree(transaction.stage, {"new": "new"})
    transaction.perform((Move(kind=MoveKind.IN, live=f"{SITE}/new", kept="stage/new"),))
    project_pin.take_back(scene.project, scene.session.begun_pins)
    _pin(scene, version="99")
    assert recover_environment(scene.session, scene.environment)
    assert "is pinned to pillow==99, but pillow==" in scene.heard[-1]
    assert "fastinstall guard install --pin --yes" in scene.heard[-1]
    assert scene.heard[-1] not in scene.changes  # the project is as it was


def test_a_pin_that_cannot_be_taken_back_does_not_keep_the_environment_from_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    _set_up_with_pin(scene)
    (scene.project / ".fastinstall/pin.json").write_text("{")
    journal = scene.store.directory(FIRST.id) / JOURNAL
    journal.write_text(f'{journal.read_text()}{{"event":"undoing","reason":"rollback"}}\n')
    assert recover_environment(scene.session, scene.environment)
    assert scene.store.transactions() == ()
    assert f"the pin of {scene.project} stays" in scene.heard[-1]


def test_an_interruption_in_time_is_as_before_and_a_late_one_says_so(tmp_path: Path) -> None:
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


def _cloned(directory: Path, *, name: str, stage: str = "pinning") -> Path:
    """A repository that brings an unfinished pin: of a link to somebody's file, or of its own manifest."""
    project = directory / "cloned"
    write_tree(directory, {".bashrc": "theirs\n", "pyproject.toml": "theirs\n"})
    write_tree(project, {"pyproject.toml": "[project]\nname = 'x'\n[tool.uv]\n"})
    if name == ".bashrc":
        (project / name).symlink_to("../.bashrc")
    entry = {
        "name": name,
        "before": sha256((project / name).read_bytes()).hexdigest(),
        "after": sha256(b"x").hexdigest(),
    }
    record = {
        "schema": "fastinstall.project-pin/1",
        "stage": stage,
        "at": FIRST.at,
        "tool_version": "0.1.0",
        "prefix": ".venv",
        "manager": "uv",
        "requirement": "pillow==1",
        "payload": {},
        "files": [entry],
        "additions": [],
        "pieces": [],
    }
    write_tree(project, {f".fastinstall/staged/{name}": "x", ".fastinstall/pin.json": json.dumps(record)})
    return project


@pytest.mark.parametrize("name", [".bashrc", "pyproject.toml"])
def test_no_verb_finishes_what_a_cloned_repository_brings(sandbox: Sandbox, name: str) -> None:
    project = _cloned(sandbox.root / "work", name=name)
    venv.create(project / ".venv")
    before = picture(sandbox.root / "work", times=False)
    words = (("rollback",), ("guard", "install"), ("guard", "remove"), ("doctor", "--fix", "way-back"))
    for verb in words:
        done = sandbox.cli(*verb, "--yes", "--prefix", project / ".venv")
        assert done.exit_code in (ExitCode.OK, ExitCode.REFUSED), done.text
        assert picture(sandbox.root / "work", times=False) == before, verb
        taking_out = f"guard remove --yes --prefix {project / '.venv'} --project {project}"
        assert (taking_out in done.stderr) is (name == "pyproject.toml" and verb[0] != "doctor")
    if name == "pyproject.toml":
        done = sandbox.cli("guard", "remove", "--yes", "--prefix", project / ".venv", "--project", project)
        assert done.exit_code == ExitCode.OK, done.text
        assert not (project / ".fastinstall").exists()
        assert (project / "pyproject.toml").read_text() == "[project]\nname = 'x'\n[tool.uv]\n"


@pytest.mark.parametrize("stage", ["pinning", "unpinning", "pinned"])
def test_a_note_in_an_environment_makes_nobody_write_in_another_project(tmp_path: Path, stage: str) -> None:
    scene = Scene(tmp_path / "one")
    victim = _cloned(tmp_path / "theirs", name="pyproject.toml", stage=stage)
    with open_transaction(scene.store) as transaction:
        transaction.perform(swap_moves())
        transaction.add(PROJECT, f"{victim}\n")
        transaction.commit(receipt_of(FIRST))
    before = picture(victim)
    assert project_of(scene.store.prefix) is None
    recover_environment(scene.session, scene.environment)
    assert picture(victim) == before
    unpinning = Unpinning(scene.session, scene.store.prefix)
    rollback(scene.store, conclude=unpinning)
    assert picture(victim) == before
    assert unpinning.sentences[0].startswith(
        f"{victim} was not pinned by this user for {scene.store.prefix}: the pin of "
    )
