"""The files of a project's pin: to the byte, through links, and whenever the process dies."""

import json
import os
from pathlib import Path

import pytest

from fastinstall.errors import DocumentError
from fastinstall.journal.project_pin import put, read_record, recover, take_back, unpinned
from fastinstall.model.pins import Manager
from fastinstall.rules.projects.additions import Items
from fastinstall.rules.projects.edits import add
from fastinstall.rules.projects.record import PinRecord, PinStage
from fastinstall.system import files

MANIFEST, LOCK = b'[project]\r\nname = "x"\r\n', b"version = 1\n"
ADDITION = Items(table=("tool", "uv"), key="find-links", items=(".fastinstall/wheels",))
EDITED = add(MANIFEST.decode(), [ADDITION])
WHEEL = ".fastinstall/wheels/a.whl"
CONTENTS = {"pyproject.toml": EDITED.text.encode(), "uv.lock": b"version = 2\n"}


class Died(BaseException):
    """The process was killed."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # no power is lost here, and each takes milliseconds
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "pyproject.toml").write_bytes(MANIFEST)
    (directory / "uv.lock").write_bytes(LOCK)
    return directory


def _put(directory: Path) -> PinRecord:
    wheel = directory.parent / "a.whl"
    wheel.write_bytes(b"wheel")
    record = PinRecord(
        stage=PinStage.PINNING,
        at="2026-11-21T12:00:00+00:00",
        tool_version="1",
        prefix=Path(".venv"),
        manager=Manager.UV,
        requirement="pillow==2",
        payload={WHEEL: files.sha256(wheel)},
        files=(),
        additions=(ADDITION,),
        pieces=EDITED.pieces,
    )
    return put(directory, record, {WHEEL: wheel}, CONTENTS)


def _now(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


PLAIN, PINNED = {"pyproject.toml": MANIFEST, "uv.lock": LOCK}, CONTENTS


def test_a_pin_comes_and_goes_to_the_byte(project: Path) -> None:
    record = _put(project)

    assert _now(project) == PINNED
    assert record.stage is PinStage.PINNED
    assert read_record(project) == record
    assert (project / WHEEL).read_bytes() == b"wheel"
    assert unpinned(project, tuple(PINNED)) == PLAIN

    assert take_back(project)
    assert _now(project) == PLAIN
    assert not (project / ".fastinstall").exists()
    assert not take_back(project)


def test_a_lock_that_was_not_there_goes_again(project: Path) -> None:
    (project / "uv.lock").unlink()
    _put(project)

    assert take_back(project)
    assert _now(project) == {"pyproject.toml": MANIFEST}


def test_what_was_edited_since_keeps_the_edits(project: Path) -> None:
    _put(project)
    (project / "pyproject.toml").write_bytes(CONTENTS["pyproject.toml"] + b"# theirs\r\n")
    (project / "uv.lock").write_bytes(b"version = 3\n")

    take_back(project)

    assert _now(project) == {"pyproject.toml": MANIFEST + b"# theirs\r\n", "uv.lock": b"version = 3\n"}


def test_links_stay_links_and_modes_stay(project: Path) -> None:
    real = project.parent / "real.toml"
    (project / "pyproject.toml").rename(real)
    (project / "pyproject.toml").symlink_to(real)
    (project / "uv.lock").chmod(0o600)

    _put(project)

    assert (project / "pyproject.toml").is_symlink()
    assert real.read_bytes() == CONTENTS["pyproject.toml"]
    assert (project / "uv.lock").stat().st_mode & 0o777 == 0o600
    take_back(project)
    assert real.read_bytes() == MANIFEST


def test_a_directory_of_that_name_that_is_not_ours_stays(project: Path) -> None:
    (project / ".fastinstall" / "wheels").mkdir(parents=True)
    (project / ".fastinstall" / "notes").write_text("theirs")

    recover(project)
    assert (project / ".fastinstall" / "wheels").is_dir()

    _put(project)
    take_back(project)
    assert (project / ".fastinstall" / "notes").read_text() == "theirs"


def test_a_wheel_that_a_manifest_names_stays_when_the_record_is_lost(project: Path) -> None:
    _put(project)
    (project / ".fastinstall" / "pin.json").unlink()

    recover(project)

    assert (project / WHEEL).is_file()


@pytest.mark.parametrize("verb", ["put", "take back"])
def test_after_a_death_at_any_point_the_project_is_whole(
    project: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verb == "take back":
        _put(project)
    deaths = 0
    while _dies(project, verb, after=deaths, monkeypatch=monkeypatch):
        deaths += 1
        recover(project)
        assert _now(project) in (PLAIN, PINNED)
        assert (read_record(project) is not None) == (_now(project) == PINNED)
        assert (project / WHEEL).is_file() or _now(project) == PLAIN
        if verb == "put":
            take_back(project)
        elif _now(project) == PLAIN:
            _put(project)
    assert deaths > 5


def test_a_file_that_was_edited_after_a_death_is_not_overwritten(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _dies(project, "put", after=8, monkeypatch=monkeypatch)
    assert read_record(project) is not None
    (project / "uv.lock").write_bytes(b"theirs\n")

    recover(project)

    assert _now(project) == {"pyproject.toml": MANIFEST, "uv.lock": b"theirs\n"}
    assert read_record(project) is None


def _dies(project: Path, verb: str, *, after: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the process dies when it has changed the disk so many times; False where it is done before."""
    left = after

    def dying(real: object) -> object:
        def change(*arguments: object, **named: object) -> object:
            nonlocal left
            if left == 0:
                raise Died
            left -= 1
            return real(*arguments, **named)  # type: ignore[operator]  # whatever it is

        return change

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dying(os.replace))
        patched.setattr(files, "discard", dying(files.discard))
        patched.setattr(Path, "unlink", dying(Path.unlink))
        try:
            _put(project) if verb == "put" else take_back(project)
        except Died:
            return True
    return False


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "..", ""])
def test_a_record_that_names_files_of_others_is_refused(project: Path, name: str) -> None:
    _put(project)
    outside = project.parent / "x"
    outside.write_text("somebody's")
    record = project / ".fastinstall" / "pin.json"
    record.write_text(record.read_text().replace('"uv.lock"', json.dumps(name)))
    before = _now(project)
    for act in (take_back, recover, lambda directory: unpinned(directory, ["uv.lock"])):
        with pytest.raises(DocumentError, match=r"pin\.json"):
            act(project)
    assert _now(project) == before
    assert outside.read_text() == "somebody's"


@pytest.mark.parametrize("name", ["pyproject.toml", ".fastinstall/wheels", ".fastinstall/ready", ".fastinstall"])
def test_nothing_is_taken_back_behind_a_link_out_of_the_project(project: Path, name: str) -> None:
    _put(project)
    elsewhere = project.parent / ".bashrc"
    path = project / name
    path.rename(elsewhere) if path.exists() else elsewhere.mkdir()
    path.symlink_to(elsewhere)
    before = tuple(sorted(elsewhere.rglob("*")))
    with pytest.raises(DocumentError, match="leads out of the project"):
        take_back(project)
    assert tuple(sorted(elsewhere.rglob("*"))) == before
