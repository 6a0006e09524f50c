"""The files of a project's pin: to the byte, through no link, and whenever the process dies."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from sandbox import tree_hash

from fastinstall.core import files
from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.model.history import UnfinishedRun
from fastinstall.pins.manifests import ArrayAddition, add
from fastinstall.pins.project_files import (
    PinRecord,
    PinStage,
    UnfinishedPins,
    compute_unpinned_files,
    interruption_of,
    is_pinned_for,
    read_record,
    recover,
    take_back,
    write_project_pin,
)

MANIFEST, LOCK = b'[project]\r\nname = "x"\r\n', b"version = 1\n"
ADDITION = ArrayAddition(table=("tool", "uv"), key="find-links", items=(".fastinstall/wheels",))
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
        manager="uv",
        requirement="pillow==2",
        payload={WHEEL: files.sha256(wheel)},
        files=(),
        additions=(ADDITION,),
        pieces=EDITED.pieces,
    )
    return write_project_pin(directory, record, {WHEEL: wheel}, CONTENTS, _begun(directory))


def _begun(directory: Path) -> UnfinishedPins:
    return UnfinishedPins(directory=directory.parent / "state")


def _take_back(directory: Path) -> None:
    take_back(directory, _begun(directory))


def _recover(directory: Path) -> None:
    recover(directory, _begun(directory))


def _now(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


PLAIN, PINNED = {"pyproject.toml": MANIFEST, "uv.lock": LOCK}, CONTENTS


def test_a_pin_comes_and_goes_to_the_byte(project: Path) -> None:
    record = _put(project)

    assert _now(project) == PINNED
    assert record.stage is PinStage.PINNED
    assert read_record(project) == record
    assert (project / WHEEL).read_bytes() == b"wheel"
    assert compute_unpinned_files(project, tuple(PINNED)) == PLAIN

    assert take_back(project, _begun(project))
    assert _now(project) == PLAIN
    assert not (project / ".fastinstall").exists()
    assert not take_back(project, _begun(project))


def test_a_lock_that_was_not_there_goes_again(project: Path) -> None:
    (project / "uv.lock").unlink()
    _put(project)

    assert take_back(project, _begun(project))
    assert _now(project) == {"pyproject.toml": MANIFEST}


def test_what_was_edited_since_keeps_the_edits(project: Path) -> None:
    _put(project)
    (project / "pyproject.toml").write_bytes(CONTENTS["pyproject.toml"] + b"# theirs\r\n")
    (project / "uv.lock").write_bytes(b"version = 3\n")

    take_back(project, _begun(project))

    assert _now(project) == {"pyproject.toml": MANIFEST + b"# theirs\r\n", "uv.lock": b"version = 3\n"}


def test_modes_stay(project: Path) -> None:
    (project / "uv.lock").chmod(0o600)
    _put(project)
    assert (project / "uv.lock").stat().st_mode & 0o777 == 0o600
    _take_back(project)
    assert (project / "uv.lock").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock"])
@pytest.mark.parametrize("where", ["../real", "real"])
def test_a_manifest_or_lock_that_is_a_link_is_not_pinned(project: Path, name: str, where: str) -> None:
    real = project / where
    (project / name).rename(real)
    (project / name).symlink_to(real)
    before = real.read_bytes()
    for act in (_put, lambda directory: compute_unpinned_files(directory, ["pyproject.toml", "uv.lock"])):
        with pytest.raises(RefusedError, match="is a link: fastinstall changes nothing"):
            act(project)
    assert real.read_bytes() == before
    assert not (project / ".fastinstall").exists()


def test_a_directory_of_that_name_that_is_not_ours_stays(project: Path) -> None:
    (project / ".fastinstall" / "wheels").mkdir(parents=True)
    (project / ".fastinstall" / "notes").write_text("theirs")

    recover(project, _begun(project))
    assert (project / ".fastinstall" / "wheels").is_dir()

    _put(project)
    take_back(project, _begun(project))
    assert (project / ".fastinstall" / "notes").read_text() == "theirs"


def test_a_wheel_that_a_manifest_names_stays_when_the_record_is_lost(project: Path) -> None:
    _put(project)
    (project / ".fastinstall" / "pin.json").unlink()

    recover(project, _begun(project))

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
        recover(project, _begun(project))
        assert _now(project) in (PLAIN, PINNED)
        assert (read_record(project) is not None) == (_now(project) == PINNED)
        assert (project / WHEEL).is_file() or _now(project) == PLAIN
        if verb == "put":
            take_back(project, _begun(project))
        elif _now(project) == PLAIN:
            _put(project)
    assert deaths > 5


def test_a_file_that_was_edited_after_a_death_is_not_overwritten(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _dies(project, "put", after=10, monkeypatch=monkeypatch)
    assert read_record(project) is not None
    (project / "uv.lock").write_bytes(b"theirs\n")

    recover(project, _begun(project))

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
            _put(project) if verb == "put" else take_back(project, _begun(project))
        except Died:
            return True
    return False


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "..", "", ".bashrc", ".envrc", "poetry.lock", "uv.toml"])
def test_a_record_that_names_files_of_others_is_refused(project: Path, name: str) -> None:
    _put(project)
    outside = project.parent / "x"
    outside.write_text("somebody's")
    record = project / ".fastinstall" / "pin.json"
    record.write_text(record.read_text().replace('"uv.lock"', json.dumps(name)))
    _begun(project).note(project, record.read_bytes())
    before = _now(project)
    for act in (_take_back, _recover, lambda directory: compute_unpinned_files(directory, ["uv.lock"])):
        with pytest.raises(DocumentError, match=r"pin\.json: files\[1\]\.name"):
            act(project)
    assert _now(project) == before
    assert outside.read_text() == "somebody's"


@pytest.mark.parametrize(
    "name",
    ["pyproject.toml", ".fastinstall/wheels", ".fastinstall/ready", ".fastinstall/originals/uv.lock", ".fastinstall"],
)
@pytest.mark.parametrize("where", ["../victim", "inside"])
def test_nothing_is_taken_back_through_a_link(project: Path, name: str, where: str) -> None:
    _put(project)
    elsewhere = project / where
    path = project / name
    path.rename(elsewhere) if path.exists() else elsewhere.mkdir()
    path.symlink_to(elsewhere)
    before = tree_hash(project.parent)
    with pytest.raises(RefusedError, match="is a link: fastinstall changes nothing"):
        _take_back(project)
    assert tree_hash(project.parent) == before


def _forged(project: Path, *, before: bytes | None, after: bytes = b"evil\n", name: str = "pyproject.toml") -> None:
    """A record that comes with a project: a change that nobody of this machine began, with what it would write."""
    files.write_bytes(project / ".fastinstall" / "staged" / name, after)
    entry = {"name": name, "before": hashlib.sha256(before).hexdigest() if before is not None else ""}
    record = {
        "schema": "fastinstall.project-pin/1",
        "stage": "pinning",
        "at": "2026-11-21T12:00:00+00:00",
        "tool_version": "0.1.0",
        "prefix": ".venv",
        "manager": "uv",
        "requirement": "pillow==2",
        "payload": {},
        "files": [{**entry, "after": hashlib.sha256(after).hexdigest()}],
        "additions": [],
        "pieces": [],
    }
    files.write_text(project / ".fastinstall" / "pin.json", json.dumps(record))


@pytest.mark.parametrize("before", [MANIFEST, None])
def test_a_change_that_this_user_did_not_begin_is_told_and_not_finished(project: Path, before: bytes | None) -> None:
    _forged(project, before=before)
    as_it_came = tree_hash(project)
    told = interruption_of(project, _begun(project))
    assert told is not None
    assert told.cut is UnfinishedRun.FOREIGN_PIN
    _recover(project)
    assert tree_hash(project) == as_it_came


def test_a_note_counts_for_the_very_record_that_was_begun(project: Path) -> None:
    _forged(project, before=MANIFEST)
    _begun(project).note(project, b"another record")
    _recover(project)
    assert _now(project) == PLAIN


def test_a_note_of_another_user_is_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _dies(project, "put", after=10, monkeypatch=monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    told = interruption_of(project, _begun(project))
    assert told is not None
    assert told.cut is UnfinishedRun.FOREIGN_PIN


def test_what_was_finished_leaves_no_note(project: Path) -> None:
    _put(project)
    assert list((project.parent / "state").iterdir()) == []
    _take_back(project)
    assert list((project.parent / "state").iterdir()) == []


def test_what_looks_like_a_left_over_is_swept_away_nowhere_else(project: Path) -> None:
    victim = project.parent / "victim"
    for name in ("wheels/a.whl", "channel/x", "originals/y", "README"):
        files.write_text(victim / name, "somebody's")
    (project / ".fastinstall").symlink_to(victim)
    before = tree_hash(victim)
    assert interruption_of(project, _begun(project)) is None
    with pytest.raises(RefusedError, match="is a link"):
        _recover(project)
    (project / ".fastinstall").unlink()
    victim.rename(project / ".fastinstall")
    _recover(project)
    assert tree_hash(project / ".fastinstall") == before


def test_a_pin_that_cannot_be_taken_out_any_more_is_told_by_its_key(project: Path) -> None:
    _put(project)
    record = project / ".fastinstall" / "pin.json"
    (project / "pyproject.toml").write_bytes(CONTENTS["pyproject.toml"] + b"# theirs\n")
    text = json.loads(record.read_text())
    text["additions"] = [{"kind": "setting", "table": ["project"], "key": "name", "literal": "{"}]
    record.write_text(json.dumps(text))
    with pytest.raises(DocumentError, match=r"pin\.json: additions: "):
        _take_back(project)


def test_a_manifest_whose_original_is_gone_keeps_what_is_theirs(project: Path) -> None:
    _put(project)
    (project / ".fastinstall" / "originals" / "pyproject.toml").unlink()
    (project / ".fastinstall" / "originals" / "uv.lock").write_text("another")
    _take_back(project)
    assert _now(project) == {"pyproject.toml": MANIFEST, "uv.lock": CONTENTS["uv.lock"]}


def test_a_project_is_pinned_for_the_environment_that_it_names_and_for_its_owner(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_pinned_for(project, project / ".venv")
    _put(project)
    assert is_pinned_for(project, project / ".venv")
    assert not is_pinned_for(project, project / "other")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert is_pinned_for(project, project / ".venv")  # as root in a container with a project of its user's
    record, elsewhere = project / ".fastinstall" / "pin.json", project.parent / "env"
    record.write_text(record.read_text().replace('".venv"', f'"{elsewhere}"'))
    assert not is_pinned_for(project, elsewhere)
    monkeypatch.undo()
    assert is_pinned_for(project, elsewhere)


@pytest.mark.parametrize("kind", ["deep", "nan", "without end"])
def test_a_record_that_no_reader_can_follow_is_named(project: Path, kind: str) -> None:
    _put(project)
    place = project / ".fastinstall/pin.json"
    place.write_text({"deep": "[" * 100_000, "nan": '{"schema": NaN}'}.get(kind, ""))
    if kind == "without end":
        os.truncate(place, 1 << 40)
    with pytest.raises(DocumentError, match=r"pin\.json: (not JSON|cannot be read): "):
        read_record(project)


def test_a_lock_without_end_is_named_and_not_read(project: Path) -> None:
    _put(project)
    os.truncate(project / "uv.lock", 1 << 40)
    with pytest.raises(DocumentError, match=r"uv\.lock: cannot be read: is larger than 64 MiB"):
        compute_unpinned_files(project, ["uv.lock"])


def test_what_a_manifest_without_end_may_name_is_no_leftover(project: Path) -> None:
    (project / ".fastinstall").mkdir()
    os.truncate(project / "pyproject.toml", 1 << 40)
    assert interruption_of(project, _begun(project)) is None
