"""A recovery never undoes a finished transaction, and a repair is undone together with the setup that it repaired."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support.journal.environments import dies_at
from support.journal.history import STAMPS, Place, open_transaction, set_up
from support.sandbox import tree_hash
from support.values.builders import changed, receipt

from fastinstall.core import files
from fastinstall.core.errors import ExitCode
from fastinstall.journal.rollback import rollback
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.history import Move, MoveKind

pytest_plugins = ("support.journal.fixtures",)


def _loosen(held: Place, stamp: Stamp, *, committed: bool) -> None:
    """Leave the journal as if the run had died while creating (or, if `committed`, removing) its directories."""
    store = JournalStore(held.prefix)
    directory = store.directory(stamp.id)
    text = (directory / "journal.jsonl").read_text()
    kept = text if committed else text.partition("\n")[0] + "\n"
    (store.root / f".fastinstall-{directory.name}.jsonl").write_text(kept)
    (directory / "journal.jsonl").unlink()


@pytest.mark.parametrize("committed", [False, True], ids=["beginning", "end"])
@pytest.mark.parametrize("words", [("rollback",), ("rollback", "--interrupted")], ids=" ".join)
def test_a_recovery_leaves_a_finished_setup_alone(place: Place, words: tuple[str, ...], *, committed: bool) -> None:
    set_up(place, STAMPS[0])
    before = tree_hash(place.site_packages)
    set_up(place, STAMPS[1], "guard remove", of=STAMPS[0])
    live = place.site_packages / f"thing_{STAMPS[1].id[-1]}.py"
    live.unlink()
    _loosen(place, STAMPS[1], committed=committed)
    done = place.cli(*words, "--yes")
    assert (done.exit_code, f"guard remove of {STAMPS[1].at}" in done.text) == (ExitCode.OK, True), done.text
    assert tree_hash(place.site_packages) == before
    assert [each.id for each in JournalStore(place.prefix).transactions()] == [STAMPS[0].id]


def test_ending_an_interrupted_run_a_second_time_does_nothing(place: Place) -> None:
    set_up(place, STAMPS[0])
    before = tree_hash(place.prefix)
    open_transaction(place, STAMPS[1])
    for told in ("had been interrupted", "nothing was interrupted"):
        done = place.cli("rollback", "--interrupted", "--yes")
        assert (done.exit_code, told in done.text) == (ExitCode.OK, True), done.text
        assert tree_hash(place.prefix) == before


@pytest.mark.parametrize("other", [("--list",), ("--forget",), ("--to", STAMPS[0].id)], ids=" ".join)
def test_ending_what_was_interrupted_stands_alone(place: Place, other: tuple[str, ...]) -> None:
    assert place.cli("rollback", "--interrupted", *other, "--yes").exit_code == ExitCode.USAGE


@pytest.mark.parametrize("to", [(), ("--to", STAMPS[0].id)], ids=["last", "named"])
def test_rerunning_a_rollback_killed_at_its_end_finishes_it(place: Place, to: tuple[str, ...]) -> None:
    before = tree_hash(place.prefix)
    set_up(place, STAMPS[0])
    after = place.prefix.with_name("kept")
    shutil.copytree(place.prefix, after, symlinks=True)
    deaths = 0
    for step in range(1, 400):
        if not dies_at(step, lambda: rollback(JournalStore(place.prefix))):
            break
        if _is_cut(place.prefix):
            deaths += 1
            done = place.cli("rollback", "--yes", *to)
            assert done.exit_code == ExitCode.OK, (step, done.text)
            assert tree_hash(place.prefix) == before, step
        shutil.rmtree(place.prefix)
        shutil.copytree(after, place.prefix, symlinks=True)
    assert deaths > 5


def _is_cut(prefix: Path) -> bool:
    """Return True if the journal announces an undo that is not finished."""
    journals = [*prefix.glob("share/fastinstall/tx/*/journal.jsonl"), *prefix.glob("**/.fastinstall-*.jsonl")]
    return any("undoing" in journal.read_text() for journal in journals if os.path.lexists(journal))


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send SIGINT at the first rename."""
    rename = files._call_renameat2

    def interrupted(source: Path, target: Path, flags: int) -> None:
        """Send SIGINT, then rename with the kernel's call."""
        monkeypatch.setattr(files, "_call_renameat2", rename)
        os.kill(os.getpid(), signal.SIGINT)
        rename(source, target, flags)

    monkeypatch.setattr(files, "_call_renameat2", interrupted)


@pytest.mark.parametrize("words", [("rollback",), ("rollback", "--interrupted")], ids=" ".join)
def test_an_interruption_after_the_recovery_says_so_and_succeeds(
    place: Place,
    words: tuple[str, ...],
    request: pytest.FixtureRequest,
) -> None:
    before = tree_hash(place.prefix)
    open_transaction(place, STAMPS[0])
    request.getfixturevalue("interrupting")
    done = place.cli(*words, "--yes")
    assert (done.exit_code, "interrupted after" in done.stderr) == (ExitCode.OK, True), done.text
    assert tree_hash(place.prefix) == before


@pytest.mark.parametrize("words", [("rollback", "--to", STAMPS[0].id), ("rollback", "--forget")], ids=" ".join)
def test_an_interruption_after_a_recovery_says_how_to_continue(
    place: Place,
    words: tuple[str, ...],
    request: pytest.FixtureRequest,
) -> None:
    set_up(place, STAMPS[0])
    before = tree_hash(place.prefix)
    open_transaction(place, STAMPS[1])
    request.getfixturevalue("interrupting")
    cut = place.cli(*words, "--yes", "--json")
    told = (cut.exit_code, cut.document["exit_code"])
    assert told == (ExitCode.FAILED_CHANGED, ExitCode.FAILED_CHANGED), cut.text
    assert any(f"of {STAMPS[1].at} had been interrupted" in each for each in cut.document["details"]), cut.text
    assert " ".join(words) in cut.document["hint"], cut.text
    assert tree_hash(place.prefix) == before, "the recovery, and nothing else"
    assert place.cli(*words, "--yes").exit_code == ExitCode.OK


PIL = {"PIL/__init__.py": "stock", "PIL/_imaging.so": "core", "pillow-13.0.0.dist-info/RECORD": "record"}


def _write(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def _swap(held: Place, stamp: Stamp, verb: str, core: str) -> None:
    """Perform a setup or a repair (`verb`): install another PIL with its own metadata directory."""
    plan = {"schema": "fastinstall.plan/1", "verb": verb}
    store, site = JournalStore(held.prefix), held.site_packages.relative_to(held.prefix).as_posix()
    old = next(held.site_packages.glob("pillow-*.dist-info"))
    ours = f"pillow-12.1.1+{stamp.id[-1]}.dist-info"
    with begin(store, plan, site_packages=held.site_packages, stamp=stamp) as transaction:
        _write(transaction.stage, {"PIL/__init__.py": "ours", "PIL/_imaging.so": core, f"{ours}/RECORD": "ours"})
        transaction.perform(
            (
                Move(kind=MoveKind.EXCHANGE, live=f"{site}/PIL", kept="stage/PIL"),
                Move(kind=MoveKind.OUT, live=f"{site}/{old.name}", kept=f"aside/{old.name}"),
                Move(kind=MoveKind.IN, live=f"{site}/{ours}", kept=f"stage/{ours}"),
            )
        )
        transaction.commit(changed(receipt(), {"id": stamp.id, "created_at": stamp.at, "metadata": ours}))


def _reinstalled(held: Place) -> None:
    """Reinstall Pillow as `pip install --force-reinstall pillow` does."""
    for path in (held.site_packages / "PIL", *held.site_packages.glob("pillow-*.dist-info")):
        shutil.rmtree(path)
    _write(held.site_packages, {**PIL, "PIL/_imaging.so": "of pip"})


def _damaged(held: Place) -> None:
    (held.site_packages / "PIL/_imaging.so").unlink()


def _looks(held: Place) -> dict[str, str]:
    paths = (path for path in held.site_packages.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(held.site_packages).as_posix(): path.read_text(errors="replace") for path in paths}


@pytest.mark.parametrize("harm", [_reinstalled, _damaged])
@pytest.mark.parametrize("verb", ["doctor --fix", "setup"])
def test_a_repair_is_undone_together_with_the_setup_it_repaired(
    place: Place,
    harm: Callable[[Place], None],
    verb: str,
) -> None:
    _write(place.site_packages, PIL)
    before = _looks(place)
    _swap(place, STAMPS[0], "setup", "one")
    harm(place)
    harmed = _looks(place)
    _swap(place, STAMPS[1], verb, "two")
    told = place.cli("rollback", "--yes")
    assert told.exit_code == ExitCode.OK, told.text
    assert f"fastinstall rollback --to {STAMPS[1].id}" in told.stderr, "how to come to just before the repair"
    assert _looks(place) == before
    assert JournalStore(place.prefix).read_receipt() is None
    assert JournalStore(place.prefix).transactions() == ()
    if harm is _reinstalled:
        assert "of pip" in {path.read_text() for path in place.prefix.glob("share/fastinstall/kept/**/_imaging.so")}
    assert harmed != before


def test_a_rollback_to_before_a_repair_says_what_state_that_is(place: Place) -> None:
    _write(place.site_packages, PIL)
    _swap(place, STAMPS[0], "setup", "one")
    _reinstalled(place)
    harmed = _looks(place)
    _swap(place, STAMPS[1], "doctor --fix", "two")
    told = place.cli("rollback", "--yes", "--to", STAMPS[1].id)
    assert told.exit_code == ExitCode.OK, told.text
    assert f"fastinstall rollback --to {STAMPS[0].id}" in told.stderr
    assert "fastinstall guard accept" in told.stderr
    assert _looks(place) == harmed


@pytest.mark.parametrize("verb", ["doctor --fix", "setup"])
def test_a_setup_over_one_that_is_intact_is_undone_alone(place: Place, verb: str) -> None:
    _write(place.site_packages, PIL)
    _swap(place, STAMPS[0], "setup", "one")
    between = _looks(place)
    _swap(place, STAMPS[1], verb, "two")
    told = place.cli("rollback", "--yes")
    assert (told.exit_code, "warning" in told.stderr) == (ExitCode.OK, False), told.text
    assert _looks(place) == between


def test_repairs_of_repairs_are_undone_with_guard_work_between(place: Place) -> None:
    _write(place.site_packages, PIL)
    before = _looks(place)
    _swap(place, STAMPS[0], "setup", "one")
    set_up(place, Stamp(id="20261121T111500Z-000009", at="2026-11-21T11:15:00Z"), "guard install", of=STAMPS[0])
    for stamp in STAMPS[1:]:
        _reinstalled(place)
        _swap(place, stamp, "doctor --fix", stamp.id[-1])
    told = place.cli("rollback", "--yes")
    assert told.exit_code == ExitCode.OK, told.text
    assert _looks(place) == before
    assert JournalStore(place.prefix).transactions() == ()


def test_a_setup_over_what_was_accepted_is_undone_alone(place: Place) -> None:
    _write(place.site_packages, PIL)
    _swap(place, STAMPS[0], "setup", "one")
    _reinstalled(place)
    accepted = _looks(place)
    store = JournalStore(place.prefix)
    with begin(store, {"verb": "guard accept"}, site_packages=place.site_packages, stamp=STAMPS[1]) as transaction:
        transaction.retire(STAMPS[1].at)
    _swap(place, STAMPS[2], "setup", "two")
    told = place.cli("rollback", "--yes")
    assert told.exit_code == ExitCode.OK, told.text
    assert _looks(place) == accepted
    assert [each.id for each in store.transactions()] == [STAMPS[1].id, STAMPS[0].id]
