"""Pins that earlier versions wrote into projects: what the files are without them, and what a record may not name."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from support.values.written_trees import CASES, put_tree

from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.journal.layout import PROJECT
from fastinstall.model.pin_state import Project
from fastinstall.pins.earlier_pins import find_noted_project, read_pin_record, read_unpinned_files
from fastinstall.pins.pin_project import ProjectChange, unpin_earlier

WRITTEN = CASES / "written_by_d3b8c969"
NAMES = ("pyproject.toml", "uv.lock")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of uv that is pinned, as it was written."""
    put_tree(WRITTEN / "finished.json", tmp_path)
    return tmp_path / "project"


def _plain(project: Path) -> dict[str, bytes]:
    before = json.loads((WRITTEN / "finished.json").read_text())["before"]
    return {name: before[f"{project.name}/{name}"]["text"].encode() for name in NAMES}


def _change(project: Path) -> ProjectChange:
    change = unpin_earlier(Project(directory=project, manager="uv", manifest=project / "pyproject.toml"))
    assert change is not None
    return change


def _unpinned(project: Path) -> dict[str, bytes | None]:
    record = read_pin_record(project)
    assert record is not None
    return read_unpinned_files(project, record)


def _edit_record(project: Path, old: str, new: str) -> None:
    record = project / ".fastinstall/pin.json"
    assert old in record.read_text()
    record.write_text(record.read_text().replace(old, new))


def test_what_nobody_edited_is_what_it_was_to_the_byte(project: Path) -> None:
    assert _unpinned(project) == _plain(project)
    change = _change(project)
    assert (change.manager, change.requirement) == ("uv", "pillow==13.0.0+simd.v2.v3")
    assert [line for line in change.diff.splitlines() if line.startswith("+++")] == [
        "+++ b/pyproject.toml",
        "+++ b/uv.lock",
    ]


def test_what_was_edited_since_keeps_the_edits_and_a_lock_made_since_is_told(project: Path) -> None:
    with (project / "pyproject.toml").open("a") as manifest:
        manifest.write("# theirs\n")
    with (project / "uv.lock").open("a") as lock:
        lock.write("# made again\n")

    plain = _unpinned(project)

    assert plain["pyproject.toml"] == _plain(project)["pyproject.toml"] + b"# theirs\n"
    assert plain["uv.lock"] == (project / "uv.lock").read_bytes()
    assert any(note.endswith("uv lock") for note in _change(project).notes)


def test_a_manifest_whose_original_is_gone_keeps_what_is_theirs(project: Path) -> None:
    (project / ".fastinstall/originals/pyproject.toml").unlink()
    assert _unpinned(project) == _plain(project)


def test_a_project_without_a_pin_is_read_as_it_is(project: Path) -> None:
    (project / ".fastinstall/pin.json").unlink()
    assert read_pin_record(project) is None
    assert unpin_earlier(Project(directory=project, manager="uv", manifest=project / "pyproject.toml")) is None


def test_a_lock_that_was_not_there_goes_by_the_diff(project: Path) -> None:
    digest = hashlib.sha256(_plain(project)["uv.lock"]).hexdigest()
    _edit_record(project, digest, "")
    (project / ".fastinstall/originals/uv.lock").unlink()
    assert "--- a/uv.lock\n+++ /dev/null\n" in _change(project).diff


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "..", "", ".bashrc", ".envrc", "poetry.lock", "uv.toml"])
def test_a_record_that_names_files_of_others_is_refused(project: Path, name: str) -> None:
    _edit_record(project, '"uv.lock"', json.dumps(name))
    with pytest.raises(DocumentError, match=r"pin\.json: files\[1\]\.name"):
        read_pin_record(project)


def test_a_manifest_whose_pinned_lines_were_edited_is_refused_with_where_to_look(project: Path) -> None:
    manifest = project / "pyproject.toml"
    manifest.write_text(manifest.read_text().replace("simd.v2.v3 ;", "simd.v2.v3;"))
    with pytest.raises(RefusedError, match=r"pyproject\.toml: .*edited since") as refused:
        _change(project)
    assert "grep -n" in (refused.value.hint or "")


def test_a_project_is_noted_by_the_environment_that_it_names(project: Path) -> None:
    env, other = project.parent / "env", project.parent / "other"
    for prefix in (env, other):
        (prefix / PROJECT).parent.mkdir(parents=True, exist_ok=True)
        (prefix / PROJECT).write_text(f"{project}\n")
    assert find_noted_project(env) == project
    assert find_noted_project(other) is None
    (project / ".fastinstall/pin.json").write_text("{")
    assert find_noted_project(env) is None


@pytest.mark.parametrize("name", ["cut-pinning.json", "cut-unpinning.json"])
def test_a_change_that_was_cut_short_is_undone_by_the_diff(tmp_path: Path, name: str) -> None:
    put_tree(WRITTEN / name, tmp_path)
    assert _unpinned(tmp_path / "project") == _plain(tmp_path / "project")


@pytest.mark.parametrize("kind", ["deep", "nan", "without end"])
def test_a_record_that_no_reader_can_follow_is_named(project: Path, kind: str) -> None:
    place = project / ".fastinstall/pin.json"
    place.write_text({"deep": "[" * 100_000, "nan": '{"schema": NaN}'}.get(kind, ""))
    if kind == "without end":
        os.truncate(place, 1 << 40)
    with pytest.raises(DocumentError, match=r"pin\.json: (not JSON|cannot be read): "):
        read_pin_record(project)


def test_a_lock_without_end_is_named_and_not_read(project: Path) -> None:
    os.truncate(project / "uv.lock", 1 << 40)
    with pytest.raises(DocumentError, match=r"uv\.lock: cannot be read: is larger than 64 MiB"):
        _unpinned(project)
