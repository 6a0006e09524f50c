"""What d3b8c969 wrote is read, finished and taken back; the pins that it wrote into projects come out by a diff.

The data is in tests/cases/written_by_d3b8c969/; its README says how each file came to be.
"""

import json
import os
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from support.sandbox import UNREACHABLE, Result, run
from support.values.written_trees import CASES as ALL
from support.values.written_trees import find_differences, put_tree, read_case, read_tree

from fastinstall.cli.main import main
from fastinstall.core.codec import document
from fastinstall.model.facts import Facts
from fastinstall.model.stored_documents import open_stored

CASES = ALL / "written_by_d3b8c969"
SETUPS = ("finished.json", "cut-pinning.json", "cut-unpinning.json")
PROJECTS = tuple(sorted(case.name for case in CASES.glob("pinned-*.json")))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Where environments are put; it bears no link in its path."""
    return tmp_path.resolve() / "base"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """The program, in this process, as a whole."""
    for name, value in {"HOME": str(tmp_path / "home"), "FASTINSTALL_CACHE_DIR": str(tmp_path), **UNREACHABLE}.items():
        monkeypatch.setenv(name, value)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_STATE_HOME", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)

    def run_program(*words: str | Path) -> Result:
        capsys.readouterr()
        code = main([str(word) for word in words])
        heard = capsys.readouterr()
        return Result(exit_code=code, stdout=heard.out, stderr=heard.err)

    return run_program


def _apply(diff: str, project: Path) -> None:
    patch = project.parent / "pin.patch"
    patch.write_text(diff)
    done = run(("git", "apply", patch), os.environ, directory=project)
    patch.unlink()
    assert done.exit_code == 0, done.text


@pytest.mark.parametrize("name", SETUPS)
def test_the_environment_is_taken_back_and_the_project_is_told_and_left(
    name: str, base: Path, call: Callable[..., Result]
) -> None:
    before = put_tree(CASES / name, base)
    project = read_tree(base / "project")

    done = call("rollback", "--yes", "--prefix", base / "env")

    assert (done.exit_code, find_differences(read_tree(base), before, "env")) == (0, {}), done.text
    assert read_tree(base / "project") == project
    command = (
        f"guard remove --yes --prefix {base / 'env'} --project {base / 'project'} | git -C {base / 'project'} apply"
    )
    assert command in done.text


@pytest.mark.parametrize("name", SETUPS)
def test_its_pin_comes_out_of_the_project_to_the_byte(name: str, base: Path, call: Callable[..., Result]) -> None:
    before = put_tree(CASES / name, base)
    call("rollback", "--yes", "--prefix", base / "env")

    told = call("guard", "remove", "--yes", "--prefix", base / "env", "--project", base / "project")
    assert told.exit_code == 0, told.text
    _apply(told.stdout, base / "project")

    assert f"rm -r {base / 'project/.fastinstall'}" in told.stderr
    left = find_differences(read_tree(base), before, "project")
    assert {path for path in left if not path.startswith("project/.fastinstall")} == set()
    again = call("guard", "remove", "--yes", "--prefix", base / "env", "--project", base / "project")
    assert (again.exit_code, again.stdout) == (0, ""), again.text


def test_guard_remove_takes_the_guards_out_and_prints_the_diff_of_the_project_alone(
    base: Path, call: Callable[..., Result]
) -> None:
    put_tree(CASES / "finished.json", base)
    project = read_tree(base / "project")
    (pin,) = call("guard", "status", "--json", "--prefix", base / "env").document["pins"]
    assert (pin["kind"], pin["requirement"], pin["problems"]) == ("uv", "pillow==13.0.0+simd.v2.v3", [])

    told = call("guard", "remove", "--json", "--yes", "--prefix", base / "env")

    assert told.exit_code == 0, told.text
    assert told.document["diff"].startswith("--- a/pyproject.toml\n+++ b/pyproject.toml\n")
    assert read_tree(base / "project") == project


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_of_each_tool_is_read_and_unpinned(name: str, base: Path, call: Callable[..., Result]) -> None:
    before = put_tree(CASES / name, base)
    prefix = base / "project/.venv"
    venv.create(prefix, symlinks=True)

    told = call("guard", "remove", "--yes", "--prefix", prefix, "--project", base / "project")

    assert told.exit_code == 0, told.text
    _apply(told.stdout, base / "project")
    left = find_differences(read_tree(base), before, "project")
    assert {path for path in left if not path.startswith(("project/.fastinstall", "project/.venv"))} == set()


def test_a_plan_that_pins_a_project_is_refused_and_made_again(base: Path, call: Callable[..., Result]) -> None:
    put_tree(CASES / "finished.json", base)
    saved = base.parent / "plan.json"
    saved.write_text(read_case(CASES / "plan-pin-project.json", base))
    told = call("apply", "--yes", saved)
    assert (told.exit_code, "steps[6].kind" in told.stderr, "make a new plan" in told.stderr) == (2, True, True)


def test_facts_say_the_same_when_they_are_written_again() -> None:
    data = json.loads((CASES / "facts.json").read_text())
    read = open_stored(Facts, "facts", data, file="facts.json")
    assert [each.cut for each in read.past.interruptions] == ["pin", "foreign-pin"]
    assert document("facts", read)["past"] == data["past"]
