"""Which project an environment belongs to, and which tool manages it."""

from pathlib import Path

import pytest

from fastinstall.core.errors import DocumentError, UsageError
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
    assert project_of(prefix, tmp_path / "project") is not None


def test_an_environment_merely_beside_a_manifest_is_not_its_own(tmp_path: Path) -> None:
    _project(tmp_path, pyproject_toml="[tool.uv]\n")

    assert project_of(tmp_path / "other-env") is None


def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"pyproject\.toml: not TOML"):
        project_of(_project(tmp_path, pyproject_toml="[tool\n"))


@pytest.mark.parametrize(
    ("files", "manager", "manifest"),
    [
        ({"pyproject_toml": "[tool.hatch.envs.default]\n"}, "hatch", "pyproject.toml"),
        ({"pyproject_toml": "", "hatch_toml": "[envs.default]\n"}, "hatch", "hatch.toml"),
        ({"pyproject_toml": "[tool.uv]\n[tool.hatch.envs.default]\n"}, "uv", "pyproject.toml"),
        ({"pyproject_toml": "", "hatch_toml": "", "poetry_lock": ""}, "poetry", "pyproject.toml"),
    ],
)
def test_environments_make_a_hatch_project_unless_it_is_anothers(
    tmp_path: Path, files: dict[str, str], manager: str, manifest: str
) -> None:
    found = project_of(_project(tmp_path, **files))

    assert found is not None
    assert (found.manager, found.manifest.name) == (manager, manifest)


def test_a_build_backend_makes_no_environments(tmp_path: Path) -> None:
    text = '[build-system]\nbuild-backend = "hatchling.build"\n[tool.hatch.version]\npath = "x.py"\n'
    assert project_of(_project(tmp_path, pyproject_toml=text)) is None
