"""A project's pin through the command line: it comes with the setup, goes with the rollback, and is told of."""

import shutil
from pathlib import Path

import pytest
from interpreters import running
from sandbox import UV, Sandbox, run, tree_hash

MANIFEST = """\
# mine
[project]
name = "gallery"
version = "1"
requires-python = ">=3.11"
dependencies = [
  "pillow>=10",  # images
]
"""
VARIABLES = {"FASTINSTALL_UV": str(UV), "PIP_FIND_LINKS": None, "UV_PYTHON": str(running().executable)}


@pytest.fixture
def project(sandbox: Sandbox) -> Path:
    """A project of uv, with its lock and its environment."""
    directory = sandbox.root / "gallery"
    directory.mkdir()
    (directory / "pyproject.toml").write_text(MANIFEST)
    uv(sandbox, directory, "sync")
    return directory


def uv(sandbox: Sandbox, directory: Path, *words: str) -> str:
    done = run((UV, *words), sandbox.variables(VARIABLES), directory=directory)
    assert done.exit_code == 0, done.text
    return done.text


def test_a_project_is_pinned_by_the_setup_kept_by_its_sync_and_brought_back_by_the_rollback(
    sandbox: Sandbox, project: Path
) -> None:
    prefix = project / ".venv"
    before = tree_hash(project)
    warned = sandbox.cli("setup", "--dry-run", "--prefix", prefix, env=VARIABLES)
    assert "is a uv project: `uv sync` reinstalls the Pillow of its lock file" in warned.stdout, warned.text
    nowhere = {**VARIABLES, "FASTINSTALL_UV": "/nowhere/uv"}
    refused = sandbox.cli("setup", "--dry-run", "--pin", "--prefix", prefix, env=nowhere)
    assert refused.exit_code == 5
    assert "uv is not on PATH" in refused.stderr

    done = sandbox.cli("setup", "--yes", "--pin", "--prefix", prefix, env=VARIABLES)
    assert done.exit_code == 0, done.text
    assert (project / "pyproject.toml").read_text().startswith(MANIFEST)
    core = tree_hash(prefix / "lib")
    uv(sandbox, project, "sync")
    assert tree_hash(prefix / "lib") == core
    again = sandbox.cli("setup", "--yes", "--pin", "--prefix", prefix, env=VARIABLES)
    assert "nothing to do" in again.text

    _take_back_in_a_clone(sandbox, project, before)

    next((project / ".fastinstall" / "wheels").iterdir()).unlink()
    status = sandbox.cli("guard", "status", "--json", "--prefix", prefix, env=VARIABLES)
    assert status.exit_code == 3, status.text
    assert [pin["kind"] for pin in status.document["pins"] if pin["problems"]] == ["uv"]
    repinned = sandbox.cli("guard", "install", "--pin", "--yes", "--prefix", prefix, env=VARIABLES)
    assert repinned.exit_code == 0, repinned.text
    assert sandbox.cli("guard", "status", "--prefix", prefix, env=VARIABLES).exit_code == 0

    undone = sandbox.cli("rollback", "--yes", "--prefix", prefix, env=VARIABLES)
    assert undone.exit_code == 0, undone.text
    assert f"removed: the pin of {project}" in undone.text
    assert tree_hash(project) == before


def _take_back_in_a_clone(sandbox: Sandbox, project: Path, before: dict[str, str]) -> None:
    """Its environment has no setup of ours; the project's own files tell what was pinned."""
    clone = sandbox.root / "clone"
    shutil.copytree(project, clone, ignore=shutil.ignore_patterns(".venv"))
    run((UV, "venv", "--quiet", clone / ".venv"), sandbox.variables(VARIABLES))
    words = ("guard", "remove", "--yes", "--project", clone, "--prefix", clone / ".venv")
    removed = sandbox.cli(*words, env=VARIABLES)
    assert removed.exit_code == 0, removed.text
    shutil.rmtree(clone / ".venv")
    assert tree_hash(clone) == {path: kind for path, kind in before.items() if not path.startswith(".venv")}
