"""The state of a project's pin, from its manifest and its lock."""

import json
from pathlib import Path

import pytest

from fastinstall.model.guards import PinState
from fastinstall.pins.recognition import read_project_pin

PINNED = "[tool.uv]\nconstraint-dependencies = [\"pillow==13.0.0+simd.v3 ; python_version >= '3.11'\"]\n"


def _receipt(prefix: Path, version: str) -> None:
    place = prefix / "share/fastinstall/receipt.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"distribution": "pillow", "version": version}))


def _problems(prefix: Path) -> tuple[str, ...]:
    state = read_project_pin(prefix)
    assert state is not None
    return state.problems


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project whose manifest and lock name the build that is in its environment."""
    _receipt(tmp_path / ".venv", "13.0.0+simd.v3")
    (tmp_path / "pyproject.toml").write_text(PINNED)
    (tmp_path / "uv.lock").write_text('version = "13.0.0+simd.v3"\n')
    return tmp_path


def test_a_manifest_that_names_the_build_is_a_pin(project: Path) -> None:
    expected = PinState(kind="uv", file=project / "pyproject.toml", requirement="pillow==13.0.0+simd.v3")
    assert read_project_pin(project / ".venv") == expected
    elsewhere = project / "caches/env"
    _receipt(elsewhere, "13.0.0+simd.v3")
    assert read_project_pin(elsewhere) is None
    assert read_project_pin(elsewhere, project) == expected


def test_a_missing_lock_entry_and_another_build_are_problems(project: Path) -> None:
    (project / "uv.lock").write_text('version = "13.0.0"\n')
    assert _problems(project / ".venv") == ("uv.lock does not hold it",)
    _receipt(project / ".venv", "13.1.0+simd.v3")
    assert _problems(project / ".venv")[0] == f"{project / '.venv'} has pillow==13.1.0+simd.v3"


@pytest.mark.parametrize("text", ["", "[tool", PINNED.replace("+simd.v3", ""), PINNED.replace("==", "!=")])
def test_a_manifest_that_names_no_build_of_ours_is_none(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text)
    assert read_project_pin(project / ".venv") is None


@pytest.mark.parametrize("content", ["", "[]", "{}", "{"])
def test_without_a_receipt_that_can_be_read_nothing_is_told(project: Path, content: str) -> None:
    (project / ".venv/share/fastinstall/receipt.json").write_text(content)
    assert read_project_pin(project / ".venv") is None
