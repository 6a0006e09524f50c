"""Which project an environment belongs to, and whose it is."""

import json
from pathlib import Path

import pytest

from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.journal.layout import PROJECT
from fastinstall.pins.earlier_pins import find_noted_project
from fastinstall.pins.recognition import project_of


def _project(directory: Path, **files: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("_", ".")).write_text(text)
    return directory / ".venv"


@pytest.mark.parametrize("manager", ["uv", "poetry", "pdm"])
def test_a_lock_says_whose_project_holds_an_environment(tmp_path: Path, manager: str) -> None:
    prefix = _project(tmp_path, pyproject_toml="[project]\n", **{f"{manager}_lock": ""})

    found = project_of(prefix)

    assert found is not None
    assert (found.directory, found.manager) == (tmp_path, manager)
    assert (found.manifest, found.lock) == (tmp_path / "pyproject.toml", tmp_path / f"{manager}.lock")


@pytest.mark.parametrize("manager", ["uv", "poetry", "pdm", "pixi"])
def test_without_a_lock_a_table_says_it(tmp_path: Path, manager: str) -> None:
    found = project_of(_project(tmp_path, pyproject_toml=f"[tool.{manager}.more]\n[tool.ruff]\n"))

    assert found is not None
    assert (found.manager, found.lock) == (manager, None)


def test_a_lock_outweighs_the_table_of_another(tmp_path: Path) -> None:
    found = project_of(_project(tmp_path, pyproject_toml="[tool.poetry]\n", uv_lock=""))

    assert found is not None
    assert found.manager == "uv"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"uv_lock": "", "poetry_lock": ""}, "poetry and of uv"),
        ({"pyproject_toml": "[tool.uv]\n[tool.pdm]\n"}, "pdm and of uv"),
    ],
)
def test_a_project_of_two_is_nobodys(tmp_path: Path, files: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        project_of(_project(tmp_path, **{"pyproject_toml": "", **files}))


@pytest.mark.parametrize(
    "files", [{}, {"pyproject_toml": '[project]\nname = "x"\n'}, {"requirements_txt": "pillow\n"}], ids=str
)
def test_a_directory_that_nothing_is_made_of_is_no_project(tmp_path: Path, files: dict[str, str]) -> None:
    assert project_of(_project(tmp_path, **files)) is None
    with pytest.raises(UsageError, match="not a project of"):
        project_of(tmp_path / "elsewhere", tmp_path)


def test_a_workspace_of_pixi_holds_its_environments(tmp_path: Path) -> None:
    _project(tmp_path, pixi_toml="[workspace]\n", pixi_lock="", uv_lock="")

    found = project_of(tmp_path / ".pixi" / "envs" / "default")

    assert found is not None
    assert (found.manager, found.manifest.name, found.directory) == ("pixi", "pixi.toml", tmp_path)


def test_an_environment_elsewhere_names_its_project(tmp_path: Path) -> None:
    _project(tmp_path / "project", pyproject_toml="[tool.poetry]\n")
    prefix = tmp_path / "caches" / "venv-1"
    assert project_of(prefix) is None
    assert (named := project_of(prefix, tmp_path / "project")) is not None

    (prefix / "share" / "fastinstall").mkdir(parents=True)
    (prefix / "share" / "fastinstall" / "project").write_text(f"{tmp_path / 'project'}\n")

    assert project_of(prefix) is None  # who made the environment may have written anything there
    _pin(tmp_path / "project", "/somewhere/else")
    assert project_of(prefix) is None
    _pin(tmp_path / "project", str(prefix))

    assert project_of(prefix) == named


@pytest.mark.parametrize("noted", ["relative", "/a\0b", "/a\n/b", f"/{'x' * 300}", "/x" * 3000, "\x1b[31m"])
def test_what_is_noted_and_no_path_is_no_project(tmp_path: Path, noted: str) -> None:
    (tmp_path / PROJECT).parent.mkdir(parents=True)
    (tmp_path / PROJECT).write_text(noted)
    assert find_noted_project(tmp_path) is None
    assert project_of(tmp_path) is None


def test_an_environment_that_merely_lies_beside_a_manifest_is_not_of_it(tmp_path: Path) -> None:
    _project(tmp_path, pyproject_toml="[tool.uv]\n")

    assert project_of(tmp_path / "other-env") is None


def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"pyproject\.toml: not TOML"):
        project_of(_project(tmp_path, pyproject_toml="[tool\n"))


def _pin(project: Path, prefix: str) -> None:
    record = {
        "schema": "fastinstall.project-pin/1",
        "stage": "pinned",
        "at": "",
        "tool_version": "1",
        "prefix": prefix,
        "manager": "uv",
        "requirement": "pillow==1",
        "payload": {},
        "files": [],
        "additions": [],
        "pieces": [],
    }
    (project / ".fastinstall").mkdir(exist_ok=True)
    (project / ".fastinstall" / "pin.json").write_text(json.dumps(record))


def test_a_build_backend_makes_no_environments(tmp_path: Path) -> None:
    text = '[build-system]\nbuild-backend = "hatchling.build"\n[tool.hatch.version]\npath = "x.py"\n'
    assert project_of(_project(tmp_path, pyproject_toml=text)) is None
