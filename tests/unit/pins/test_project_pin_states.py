"""What is told of a project's pin, by the record of an earlier fastinstall and by the manifest."""

import json
from pathlib import Path

import pytest

from fastinstall.model.pin_state import PinState
from fastinstall.pins.recognition import observe_project_pin, read_manifest_pin

WHEEL = ".fastinstall/wheels/pillow-2+simd.whl"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment in a project that is pinned."""
    prefix = tmp_path / ".venv"
    (prefix / "share" / "fastinstall").mkdir(parents=True)
    _receipt(prefix, "2+simd")
    (tmp_path / ".fastinstall" / "wheels").mkdir(parents=True)
    (tmp_path / WHEEL).touch()
    (tmp_path / "pyproject.toml").write_text("constraint-dependencies = ['pillow==2+simd']")
    (tmp_path / "uv.lock").write_text('name = "pillow"\nversion = "2+simd"\n')
    _write(tmp_path)
    return prefix


def _write(project: Path, **changes: object) -> None:
    record = {
        "stage": "pinned",
        "prefix": ".venv",
        "manager": "uv",
        "requirement": "pillow==2+simd",
        "payload": {WHEEL: "0"},
        "files": [{"name": "pyproject.toml"}, {"name": "uv.lock"}],
        **changes,
    }
    (project / ".fastinstall" / "pin.json").write_text(json.dumps(record))


def _receipt(prefix: Path, version: str) -> None:
    receipt = {"distribution": "pillow", "version": version}
    (prefix / "share" / "fastinstall" / "receipt.json").write_text(json.dumps(receipt))


def _problems(prefix: Path) -> tuple[str, ...]:
    (state,) = observe_project_pin(prefix)
    return state.problems


def test_a_pin_that_holds_has_no_problems(prefix: Path) -> None:
    manifest = prefix.parent / "pyproject.toml"

    assert observe_project_pin(prefix) == (PinState(kind="uv", file=manifest, requirement="pillow==2+simd"),)


def test_where_nothing_is_pinned_nothing_is_told(prefix: Path, tmp_path: Path) -> None:
    assert observe_project_pin(tmp_path / "other" / "env") == ()
    (prefix.parent / ".fastinstall" / "pin.json").unlink()
    assert observe_project_pin(prefix) == ()


def test_a_pin_of_an_environment_elsewhere_is_found(prefix: Path, tmp_path: Path) -> None:
    other = tmp_path / "caches" / "env"
    (other / "share" / "fastinstall").mkdir(parents=True)
    (other / "share" / "fastinstall" / "project").write_text(f"{prefix.parent}\n")

    assert observe_project_pin(other) == ()  # which a copy notes as well
    _write(prefix.parent, prefix=str(other))

    assert observe_project_pin(other) == observe_project_pin(prefix)


def test_each_thing_that_is_wrong_is_told(prefix: Path) -> None:
    project = prefix.parent
    (project / WHEEL).unlink()
    assert _problems(prefix) == (f"{WHEEL} is gone",)
    (project / "pyproject.toml").write_text("")
    assert _problems(prefix)[1:] == ("pyproject.toml no longer names it",)
    (project / "uv.lock").write_text('version = "2"')
    assert _problems(prefix)[2:] == ("uv.lock no longer holds it",)
    (project / "uv.lock").unlink()
    assert _problems(prefix)[2:] == ("uv.lock is gone",)
    _receipt(prefix, "3+simd")
    assert _problems(prefix)[3:] == (f"{prefix} has pillow==3+simd",)
    _write(project, stage="unpinning")
    assert _problems(prefix)[0] == "a change of it was interrupted (unpinning)"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"requirement": "a", "manager": "b"}'])
def test_a_record_that_cannot_be_read_is_a_problem(prefix: Path, content: str) -> None:
    (prefix.parent / ".fastinstall" / "pin.json").write_text(content)

    assert _problems(prefix) == (".fastinstall/pin.json cannot be read",)


@pytest.mark.parametrize("name", ["../../etc/shadow", "/dev/zero", ".bashrc", "poetry.lock"])
def test_no_file_is_read_that_a_record_of_others_names(prefix: Path, name: str) -> None:
    _write(prefix.parent, files=[{"name": "pyproject.toml"}, {"name": name}])
    assert _problems(prefix) == (".fastinstall/pin.json cannot be read",)


PINNED = "[tool.uv]\nconstraint-dependencies = [\"pillow==13.0.0+simd.v3 ; python_version >= '3.11'\"]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose manifest and lock name the build that is in its environment."""
    (tmp_path / ".venv/share/fastinstall").mkdir(parents=True)
    _receipt(tmp_path / ".venv", "13.0.0+simd.v3")
    (tmp_path / "pyproject.toml").write_text(PINNED)
    (tmp_path / "uv.lock").write_text('version = "13.0.0+simd.v3"\n')
    return tmp_path


def test_a_manifest_that_names_the_build_is_a_pin(project: Path) -> None:
    expected = PinState(kind="uv", file=project / "pyproject.toml", requirement="pillow==13.0.0+simd.v3")
    assert observe_project_pin(project / ".venv") == (expected,)
    elsewhere = project / "caches/env"
    (elsewhere / "share/fastinstall").mkdir(parents=True)
    _receipt(elsewhere, "13.0.0+simd.v3")
    assert observe_project_pin(elsewhere) == ()
    assert read_manifest_pin(elsewhere, project) == expected


def test_a_lock_without_the_build_and_another_build_in_place_are_problems(project: Path) -> None:
    (project / "uv.lock").write_text('version = "13.0.0"\n')
    assert _problems(project / ".venv") == ("uv.lock does not hold it",)
    _receipt(project / ".venv", "13.1.0+simd.v3")
    assert _problems(project / ".venv")[0] == f"{project / '.venv'} has pillow==13.1.0+simd.v3"


@pytest.mark.parametrize("text", ["", "[tool", PINNED.replace("+simd.v3", ""), PINNED.replace("==", "!=")])
def test_a_manifest_that_names_no_build_of_ours_is_none(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text)
    assert observe_project_pin(project / ".venv") == ()
