"""The location of conda, found from files alone."""

from pathlib import Path, PurePath

import pytest

from fastinstall.core.errors import RefusedError
from fastinstall.model.conda import CondaTool
from fastinstall.observe.conda.executable import find_conda


def _conda(root: Path, version: str = "24.7.1", *, first: str = "") -> Path:
    """Write a conda that cannot be run, and return its executable; `first` replaces the executable's first line."""
    for name in ("bin/python", "bin/conda"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(first or f"#!{root}/bin/python\n")
        (root / name).chmod(0o755)
    (root / "bin/python").write_bytes(b"\x7fELF")
    (root / "lib/python3.11/site-packages/conda").mkdir(parents=True)
    (root / "conda-meta").mkdir()
    for name in (f"conda-{version}-py311_0", "conda-libmamba-solver-24.1.0-py_0", "conda-build-3.0-0"):
        (root / f"conda-meta/{name}.json").touch()
    return root / "bin/conda"


def test_the_variable_that_an_activated_shell_has_comes_first(tmp_path: Path) -> None:
    one, other = _conda(tmp_path / "one"), _conda(tmp_path / "other", "23.1.0")
    variables = {"CONDA_EXE": str(one), "PATH": str(other.parent)}
    assert find_conda(variables, None) == CondaTool(
        command=(str(one),), version="24.7.1", root=tmp_path / "one", solver="libmamba", found_by="CONDA_EXE"
    )
    assert find_conda({"PATH": str(other.parent)}, None) == CondaTool(
        command=(str(other),), version="23.1.0", root=tmp_path / "other", solver="classic", found_by="PATH"
    )


def test_condas_python_is_enough(tmp_path: Path) -> None:
    _conda(tmp_path / "root").unlink()
    python = tmp_path / "root/bin/python"
    found = find_conda({"CONDA_EXE": "/gone/conda", "CONDA_PYTHON_EXE": str(python)}, None)
    assert found is not None
    assert (found.command, found.found_by) == ((str(python), "-I", "-m", "conda"), "CONDA_PYTHON_EXE")
    (tmp_path / "root/lib/python3.11/site-packages/conda").rmdir()
    assert find_conda({"CONDA_PYTHON_EXE": str(python)}, None) is None


@pytest.mark.parametrize("place", ["root/envs/env", "elsewhere/env", "root"])
def test_an_environments_conda_is_found_by_location_or_history(tmp_path: Path, place: str) -> None:
    conda, prefix = _conda(tmp_path / "root"), tmp_path / place
    (prefix / "conda-meta").mkdir(parents=True, exist_ok=True)
    (prefix / "conda-meta/history").write_text(f"==> now <==\n# cmd: {conda} create -n env\n")
    found = find_conda({}, prefix)
    assert found is not None
    assert (found.command, found.found_by) == ((str(conda),), "environment")


@pytest.mark.parametrize("name", ["CONDA_EXE", "CONDA_PYTHON_EXE"])
def test_a_conda_that_anybody_could_have_put_there_is_refused(tmp_path: Path, name: str) -> None:
    named = _plant(tmp_path / "everybodys").with_name("python" if name == "CONDA_PYTHON_EXE" else "conda")
    with pytest.raises(RefusedError, match="anyone may"):
        find_conda({name: str(named)}, None)


def test_a_world_writable_conda_named_in_a_history_is_skipped(tmp_path: Path) -> None:
    planted, prefix = _plant(tmp_path / "everybodys"), tmp_path / "env"
    (prefix / "conda-meta").mkdir(parents=True)
    history = f"==> now <==\n# cmd: {planted} create -n env\n"
    (prefix / "conda-meta/history").write_text(history)
    assert find_conda({}, prefix) is None
    own = _conda(tmp_path / "own")
    (prefix / "conda-meta/history").write_text(f"{history}==> now <==\n# cmd: {own} install numpy\n")
    found = find_conda({}, prefix)
    assert found is not None
    assert found.command == (str(own),)


def _plant(root: Path) -> Path:
    """Return a conda that any user could have planted, in a directory like /tmp."""
    conda = _conda(root)
    for file in (conda, conda.with_name("python")):
        file.chmod(0o777)
    conda.parent.chmod(0o1777)
    return conda


def test_a_history_of_python_m_conda_names_its_root(tmp_path: Path) -> None:
    conda = _conda(tmp_path / "root")
    module = tmp_path / "root/lib/python3.11/site-packages/conda/__main__.py"
    (tmp_path / "env/conda-meta").mkdir(parents=True)
    (tmp_path / "env/conda-meta/history").write_text(f"==> now <==\n# cmd: {module} create -n env\n")
    found = find_conda({}, tmp_path / "env")
    assert found is not None
    assert found.command == (str(conda),)


def test_mamba_is_no_conda(tmp_path: Path) -> None:
    micromamba = tmp_path / "bin/micromamba"
    micromamba.parent.mkdir()
    micromamba.write_bytes(b"\x7fELF")
    micromamba.chmod(0o755)
    (tmp_path / "bin/conda").symlink_to("micromamba")
    assert find_conda({"CONDA_EXE": str(micromamba), "PATH": str(tmp_path / "bin")}, None) is None


def test_a_conda_whose_python_is_gone_is_none(tmp_path: Path) -> None:
    conda = _conda(tmp_path, first="#!/gone/python\n")
    assert find_conda({"CONDA_EXE": str(conda)}, None) is None
    conda.write_text("#!/bin/sh\n")
    assert find_conda({"CONDA_EXE": str(conda)}, None) is not None
    conda.chmod(0o644)
    assert find_conda({"CONDA_EXE": str(conda)}, None) is None
    assert find_conda({"CONDA_EXE": str(tmp_path), "PATH": ""}, None) is None


def test_a_link_to_conda_has_the_root_of_its_python(tmp_path: Path) -> None:
    conda = _conda(tmp_path / "root")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/conda").symlink_to(conda)
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied/conda").write_text(conda.read_text())
    (tmp_path / "copied/conda").chmod(0o755)
    for directory in ("bin", "copied"):
        found = find_conda({"PATH": str(tmp_path / directory)}, None)
        assert found is not None
        assert (found.root, found.version) == (tmp_path / "root", "24.7.1")


def test_a_conda_without_a_record_has_its_version_in_its_files(tmp_path: Path) -> None:
    conda = _conda(tmp_path)
    for path in (tmp_path / "conda-meta").iterdir():
        path.unlink()
    found = find_conda({"CONDA_EXE": str(conda)}, None)
    assert found is not None
    assert (found.version, found.solver) == ("", "")
    (tmp_path / "lib/python3.11/site-packages/conda/_version.py").write_text("__version__ = version = '26.7.1'\n")
    found = find_conda({"CONDA_EXE": str(conda)}, None)
    assert found is not None
    assert (found.version, found.solver) == ("26.7.1", "libmamba")


@pytest.mark.parametrize(
    ("files", "variables", "solver"),
    [
        ({}, {}, "libmamba"),
        ({"root/.condarc": "solver: classic\n"}, {}, "classic"),
        ({"root/.condarc": "experimental_solver: 'rattler'  # fast\n"}, {}, "rattler"),
        ({"root/.condarc": "solver: classic\n", "env/.condarc": "solver: rattler\n"}, {}, "rattler"),
        ({"root/.condarc": "solver: classic\n"}, {"CONDA_SOLVER": "rattler"}, "rattler"),
        ({"root/.condarc": "solver:\n  - classic\n"}, {"CONDA_SOLVER": ""}, "libmamba"),
    ],
)
def test_the_solver_is_the_configured_one(
    tmp_path: Path, files: dict[str, str], variables: dict[str, str], solver: str
) -> None:
    conda = _conda(tmp_path / "root")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = find_conda({"CONDA_EXE": str(conda), **variables}, tmp_path / "env")
    assert found is not None
    assert found.solver == solver


def test_nothing_at_all_is_found_nowhere() -> None:
    assert find_conda({}, None) is None
    assert find_conda({"CONDA_EXE": "", "CONDA_PYTHON_EXE": "", "PATH": ""}, Path(PurePath("/gone/env"))) is None
