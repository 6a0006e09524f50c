"""The default environment, found from directories alone."""

from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.core.errors import ExitCode, NoEnvironmentError, RefusedError, UndeterminedError, UsageError
from fastinstall.model.facts import EnvironmentKind
from fastinstall.observe.environments import active_prefixes, locate

TOOL = Path("/opt/fastinstall")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return a directory that looks like a virtual environment."""
    return _environment(tmp_path / "some où env")


def _environment(prefix: Path) -> Path:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").symlink_to("/usr/bin/python3")
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return prefix


def test_a_named_prefix_is_taken_and_its_python_not_resolved(prefix: Path) -> None:
    found = locate(prefix, None, {"VIRTUAL_ENV": "/elsewhere"}, TOOL)
    assert (found.prefix, found.python, found.kind) == (prefix, prefix / "bin/python", EnvironmentKind.VENV)


def test_a_relative_prefix_is_made_absolute(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(prefix.parent)
    assert locate(Path(prefix.name), None, {}, TOOL).prefix == prefix


def test_a_symlinked_prefix_keeps_its_name(prefix: Path) -> None:
    link = prefix.parent / "link"
    link.symlink_to(prefix)
    assert locate(link, None, {}, TOOL).prefix == link


def test_a_venv_interpreter_reveals_its_prefix_without_being_run(prefix: Path) -> None:
    (prefix / "bin/python3").write_text("not executable")
    found = locate(None, prefix / "bin/python3", {}, TOOL)
    assert (found.prefix, found.python) == (prefix, prefix / "bin/python3")


def test_conda_is_told_by_its_records(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").unlink()
    assert locate(prefix, None, {}, TOOL).kind is EnvironmentKind.SYSTEM
    (prefix / "conda-meta").mkdir()
    assert locate(prefix, None, {}, TOOL).kind is EnvironmentKind.CONDA


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_is_taken_where_none_is_named(prefix: Path, variable: str) -> None:
    assert locate(None, None, {variable: str(prefix)}, TOOL).prefix == prefix


def test_two_active_environments_that_agree_are_one(prefix: Path) -> None:
    link = prefix.parent / "link"
    link.symlink_to(prefix)
    assert locate(None, None, {"VIRTUAL_ENV": str(prefix), "CONDA_PREFIX": str(link)}, TOOL).prefix == prefix


def test_two_differing_active_environments_are_refused_and_shown(prefix: Path) -> None:
    with pytest.raises(RefusedError) as caught:
        locate(None, None, {"VIRTUAL_ENV": str(prefix), "CONDA_PREFIX": "/opt/conda"}, TOOL)
    assert caught.value.exit_code == ExitCode.REFUSED
    assert str(prefix) in caught.value.message
    assert "/opt/conda" in caught.value.message
    assert f"--prefix '{prefix}'" in str(caught.value.hint)


def test_a_virtual_environment_above_conda_s_base_is_taken(prefix: Path) -> None:
    base = prefix.parent / "conda"
    (base / "conda-meta").mkdir(parents=True)
    variables = {"VIRTUAL_ENV": str(prefix), "CONDA_PREFIX": str(base)}
    for helper in ("conda-package-handling-2.3.0-pyh1_0.json", "conda-libmamba-solver-24.7.0-pyhd_0.json"):
        (base / "conda-meta" / helper).touch()
        with pytest.raises(RefusedError):
            locate(None, None, variables, TOOL)
    (base / "conda-meta/conda-24.7.1-py311h06a4308_0.json").touch()
    assert locate(None, None, variables, TOOL).prefix == prefix
    assert active_prefixes(variables) == {"VIRTUAL_ENV": prefix}
    assert active_prefixes({"CONDA_PREFIX": str(base)}) == {"CONDA_PREFIX": base}


def test_a_prefix_with_dots_is_written_without(prefix: Path) -> None:
    elsewhere = prefix.parent / "elsewhere"
    elsewhere.mkdir()
    assert locate(elsewhere / ".." / prefix.name, None, {}, TOOL).prefix == prefix
    (prefix.parent / "deep/er").mkdir(parents=True)
    link = elsewhere / "link"
    link.symlink_to(prefix.parent / "deep/er")
    _environment(prefix.parent / "deep/env")
    found = locate(link / "../env", None, {}, TOOL)
    assert (found.prefix, found.python) == (prefix.parent / "deep/env", prefix.parent / "deep/env/bin/python")
    assert locate(None, link / "../env/bin/python", {}, TOOL).prefix == prefix.parent / "deep/env"


def test_no_named_or_active_environment_is_refused_with_the_flag(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(prefix)
    with pytest.raises(NoEnvironmentError) as caught:
        locate(None, None, {"VIRTUAL_ENV": ""}, prefix)
    assert str(caught.value) == "no environment is active"
    assert "--prefix DIR" in str(caught.value.hint)
    assert caught.value.exit_code == ExitCode.REFUSED


def test_environments_in_the_working_directory_are_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    for name in (".venv", "fast-env", "other", "venv"):
        (tmp_path / name).mkdir()
    (tmp_path / "fast-env" / "pyvenv.cfg").touch()
    (tmp_path / "other" / "pyvenv.cfg").touch()
    (tmp_path / ".venv" / "conda-meta").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoEnvironmentError) as caught:
        locate(None, None, {}, TOOL)
    golden(caught.value)
    assert caught.value.nearby == ("./fast-env", "./.venv")


@pytest.mark.parametrize("how", ["named", "by interpreter", "active"])
def test_the_tool_never_works_on_its_own_environment(prefix: Path, how: str) -> None:
    named = prefix if how == "named" else None
    python = prefix / "bin/python" if how == "by interpreter" else None
    with pytest.raises(RefusedError, match="fastinstall itself"):
        locate(named, python, {"VIRTUAL_ENV": str(prefix)}, prefix)


def test_what_is_no_environment_cannot_be_determined(prefix: Path) -> None:
    (prefix / "bin/python").unlink()
    with pytest.raises(UndeterminedError, match="not a Python environment"):
        locate(prefix, None, {}, TOOL)
    with pytest.raises(UndeterminedError, match="no such directory"):
        locate(prefix / "nowhere", None, {}, TOOL)
    with pytest.raises(UndeterminedError, match="not a directory"):
        locate(prefix / "pyvenv.cfg", None, {}, TOOL)


def test_an_interpreter_that_is_not_there_cannot_be_determined(prefix: Path) -> None:
    with pytest.raises(UndeterminedError, match="no such file"):
        locate(None, prefix / "bin/python9", {}, TOOL)


def test_a_dangling_interpreter_is_told(prefix: Path, golden: Golden) -> None:
    python = prefix / "bin/python8"
    python.symlink_to("/removed/python")
    with pytest.raises(UndeterminedError, match="/removed/python") as caught:
        locate(None, python, {}, TOOL)
    golden(caught.value, PREFIX=prefix)


def test_prefix_and_interpreter_must_belong_together(prefix: Path) -> None:
    other = _environment(prefix.parent / "other")
    with pytest.raises(UsageError, match="disagree"):
        locate(other, prefix / "bin/python", {}, TOOL)
    assert locate(prefix, prefix / "bin/python", {}, TOOL).prefix == prefix


def test_active_prefixes_are_told_by_variable() -> None:
    variables = {"VIRTUAL_ENV": "/a", "CONDA_PREFIX": "", "HOME": "/root"}
    assert {name: str(path) for name, path in active_prefixes(variables).items()} == {"VIRTUAL_ENV": "/a"}
