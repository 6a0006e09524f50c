"""A power failure during a whole setup with real wheels: the environment has its old state, or the planned one."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.doors import watched
from faults.forked import command, forked
from faults.power import Log
from faults.power_record import Recorder, Recording
from faults.power_trial import Sample, difference, try_all
from faults.scenes import Scene, make_scene, materials, picture
from support.journal.environments import swift_directory
from support.suite import extent

from fastinstall.journal.rollback import recover
from fastinstall.journal.store import JournalStore

_EVERYTHING = extent.every_row
_OURS = "share/fastinstall"


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's files."""
    with swift_directory(tmp_path) as directory:
        yield directory


@pytest.mark.parametrize("name", ["published", "rollback"] if _EVERYTHING else ["published"])
def test_a_power_failure_in_a_whole_setup_loses_nothing(name: str, scenery: Path, shared_cache: Path) -> None:
    scene = make_scene(name, scenery / "scene", materials(shared_cache))
    before = _look(scene.prefix)
    recording = _recorded(scene, scenery / "recording")
    after = _look(scene.prefix)
    assert not _unseen(recording, scene.prefix)

    def judge(top: Path) -> str:
        store = JournalStore(top)
        recover(store)
        assert store.unfinished() is None
        found = _look(top)
        wrong = {path for path in found.keys() | after.keys() if found.get(path) != after.get(path)}
        if not wrong:
            return "after"
        assert found == before, sorted(path for path in wrong if found.get(path) != before.get(path))[:8]
        return "before"

    points = len(Log(recording).points)
    sample = Sample(every=max(1, points // 150)) if _EVERYTHING else Sample(every=max(1, points // 4), first=3, limit=2)
    outcomes = try_all(recording, scenery, judge, sample)
    assert not outcomes.lost, str(outcomes)
    assert outcomes.ended.keys() == {"after"}, "what was said to be done is done"


def _recorded(scene: Scene, kept: Path) -> Recording:
    work = command(scene.argv, scene.variables, scene.space)

    def watch() -> int:
        recorder = Recorder(scene.prefix)
        with watched(recorder, within=[scene.prefix]):
            code = work()
        with kept.open("wb") as stream:
            pickle.dump(recorder.recording, stream, protocol=pickle.HIGHEST_PROTOCOL)
        return code

    ended = forked(watch)
    assert ended.code == 0, ended.text
    found = pickle.loads(kept.read_bytes())  # noqa: S301 (pickled by this test)
    assert isinstance(found, Recording)
    return found


def _unseen(recording: Recording, prefix: Path) -> set[str]:
    """Return paths that differ from the disk model; omit bytecode, which other programs wrote unseen."""
    return {path for path in difference(recording, prefix) if "__pycache__" not in path}


def _look(prefix: Path) -> dict[str, tuple[object, ...]]:
    """Return contents and modes of all files; of fastinstall's own, only the IDs of transactions and receipt."""
    shown = {path: look for path, look in picture(prefix, times=False).items() if not _is_ours(path)}
    store = JournalStore(prefix)
    receipt = store.read_receipt()
    names = tuple(sorted(info.id for info in store.transactions()))
    return {**shown, _OURS: (names, receipt.id if receipt is not None else "")}


def _is_ours(path: str) -> bool:
    return path.startswith(_OURS) or path == "share" or "__pycache__" in path
