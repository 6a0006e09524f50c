"""A power failure while we write outside of an environment: the pin of a project, our cache, single files."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.power_trial import Sample, record, try_all
from journaled import swift_directory

from fastinstall.core import files
from fastinstall.pins.manifests import ArrayAddition, add
from fastinstall.pins.project_files import (
    PinRecord,
    PinStage,
    UnfinishedPins,
    read_record,
    recover,
    take_back,
    write_project_pin,
)
from fastinstall.wheelbuild import wheel_cache

MANIFEST = b'[project]\nname = "x"\n'
PLAIN = {"pyproject.toml": MANIFEST, "uv.lock": b"version = 1\n"}
ADDITION = ArrayAddition(table=("tool", "uv"), key="find-links", items=(".fastinstall/wheels",))
EDITED = add(MANIFEST.decode(), [ADDITION])
PINNED = {"pyproject.toml": EDITED.text.encode(), "uv.lock": b"version = 2\n"}
WHEEL = ".fastinstall/wheels/a.whl"
INPUTS = {"recipe": "pillow"}


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Where all of it lies."""
    with swift_directory(tmp_path) as directory:
        yield directory


def test_a_project_is_pinned_wholly_or_not_at_all_and_can_be_unpinned(scenery: Path) -> None:
    _make_project(scenery / "origin")

    def judge(top: Path) -> str:
        project = top / "project"
        recover(project, _begun(top))
        found = _files(project)
        if found == PINNED:
            assert (project / WHEEL).read_bytes() == b"wheel"
            assert take_back(project, _begun(top))
            assert (_files(project), _left(project)) == (PLAIN, [])
            return "after"
        assert (found, _left(project)) == (PLAIN, [])
        return "before"

    _trial(scenery, _pin, judge)


def test_a_project_is_unpinned_wholly_or_not_at_all(scenery: Path) -> None:
    _make_project(scenery / "origin")
    _pin(scenery / "origin")

    def judge(top: Path) -> str:
        project = top / "project"
        recover(project, _begun(top))
        assert _files(project) == (PINNED if read_record(project) is not None else PLAIN)
        if read_record(project) is not None:
            assert take_back(project, _begun(top))
            assert (_files(project), _left(project)) == (PLAIN, [])
            return "before"
        assert _left(project) == []
        return "after"

    _trial(scenery, lambda top: take_back(top / "project", _begun(top)), judge)


@pytest.mark.parametrize("there", [False, True], ids=["absent", "damaged"])
def test_an_entry_of_the_cache_is_whole_or_counts_as_absent(scenery: Path, *, there: bool) -> None:
    origin = scenery / "origin"
    origin.mkdir()
    key = wheel_cache.key_of(INPUTS)
    if there:
        _store(origin)
        (wheel_cache.directory_of(origin / "cache", key) / "ours.whl").write_bytes(b"damaged")

    def judge(top: Path) -> str:
        found = wheel_cache.find(top / "cache", key, lambda _event: None)
        directory = wheel_cache.directory_of(top / "cache", key)
        if found is None:
            assert not directory.exists() or (directory / "ours.whl").read_bytes() == b"damaged"
            return "before"
        assert (directory / found.wheel).read_bytes() == b"ours"
        return "after"

    _trial(scenery, _store, judge, lasting=False)


@pytest.mark.parametrize("path", ["config.toml", "made/for/it/config.toml"])
def test_a_file_is_as_before_or_whole_and_stays_once_it_was_written(scenery: Path, path: str) -> None:
    (scenery / "origin").mkdir()
    (scenery / "origin" / "config.toml").write_text("old")

    def judge(top: Path) -> str:
        found = (top / path).read_text() if (top / path).exists() else ""
        assert found in ("old" if path == "config.toml" else "", "new")
        return "after" if found == "new" else "before"

    _trial(scenery, lambda top: files.write_text(top / path, "new"), judge)


def _trial(
    scenery: Path, work: Callable[[Path], object], judge: Callable[[Path], str], *, lasting: bool = True
) -> None:
    origin = scenery / "origin"
    outcomes = try_all(record(origin, lambda: work(origin)), scenery, judge, Sample(random=3))
    assert not outcomes.lost, str(outcomes)
    assert "after" in outcomes.ended
    assert not lasting or outcomes.ended.keys() == {"after"}, "what was said to be done is done"


def _make_project(top: Path) -> None:
    (top / "project").mkdir(parents=True)
    for name, content in PLAIN.items():
        (top / "project" / name).write_bytes(content)


def _begun(top: Path) -> UnfinishedPins:
    """What was begun; a disk that is rebuilt elsewhere has its project elsewhere, which notes are named after."""
    begun = UnfinishedPins(directory=top / "state")
    for note in begun.directory.glob("[!.]*") if top.name != "origin" else ():
        note.rename(begun._locate_note(top / "project"))
    return begun


def _pin(top: Path) -> None:
    wheel = top / "a.whl"
    wheel.write_bytes(b"wheel")
    record = PinRecord(
        stage=PinStage.PINNING,
        at="2026-11-21T12:00:00+00:00",
        tool_version="1",
        prefix=Path(".venv"),
        manager="uv",
        requirement="pillow==2",
        payload={WHEEL: files.sha256(wheel)},
        files=(),
        additions=(ADDITION,),
        pieces=EDITED.pieces,
    )
    write_project_pin(top / "project", record, {WHEEL: wheel}, PINNED, _begun(top))


def _store(top: Path) -> None:
    (top / "ours.whl").write_bytes(b"ours")
    wheel_cache.store(top / "cache", INPUTS, top / "ours.whl", {})


def _files(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}


def _left(project: Path) -> list[str]:
    return sorted(path.relative_to(project).as_posix() for path in (project / ".fastinstall").rglob("*"))
