"""A project's pin, made on the command line: git applies the printed diff, and `uv sync` then keeps the stack."""

from pathlib import Path
from typing import Any

import pytest
from support.environments.interpreters import running
from support.sandbox import UV, Sandbox, run, tree_hash

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
    """Return a uv project with its lock and environment."""
    directory = sandbox.root / "gallery"
    directory.mkdir()
    (directory / "pyproject.toml").write_text(MANIFEST)
    uv(sandbox, directory, "sync")
    return directory


def uv(sandbox: Sandbox, directory: Path, *words: str) -> str:
    done = run((UV, *words), sandbox.variables(VARIABLES), directory=directory)
    assert done.exit_code == 0, done.text
    return done.text


def test_a_pin_by_diff_survives_uv_sync_and_its_reverse_unpins(sandbox: Sandbox, project: Path) -> None:
    prefix = project / ".venv"
    done = sandbox.cli("setup", "--yes", "--pin", "--prefix", prefix, env=VARIABLES)
    assert done.exit_code == 0, done.text
    assert f"fastinstall guard pin --prefix {prefix}" in done.text
    again = sandbox.cli("setup", "--yes", "--pin", "--prefix", prefix, env=VARIABLES)
    assert "nothing to do" in again.text
    before = tree_hash(project)
    nowhere = {**VARIABLES, "FASTINSTALL_UV": "/nowhere/uv"}
    refused = sandbox.cli("guard", "pin", "--prefix", prefix, env=nowhere)
    assert (refused.exit_code, "uv is not on PATH" in refused.stderr) == (5, True), refused.text

    told = sandbox.cli("guard", "pin", "--prefix", prefix, env=VARIABLES)
    assert told.exit_code == 0, told.text
    assert tree_hash(project) == before
    apply(sandbox, project, told.stdout)
    assert (project / "pyproject.toml").read_text().startswith(MANIFEST)
    core = tree_hash(prefix / "lib")
    uv(sandbox, project, "sync")
    assert tree_hash(prefix / "lib") == core

    (pin,) = [pin for pin in _status(sandbox, prefix)["pins"] if pin["kind"] == "uv"]
    assert (pin["file"], pin["problems"]) == (str(project / "pyproject.toml"), [])
    nothing = sandbox.cli("guard", "pin", "--json", "--prefix", prefix, env=VARIABLES)
    assert (nothing.exit_code, nothing.document["schema"], nothing.document["diff"]) == (0, "fastinstall.pin/1", "")

    apply(sandbox, project, told.stdout, "-R")
    assert tree_hash(project) == before


def apply(sandbox: Sandbox, project: Path, diff: str, *flags: str) -> None:
    patch = sandbox.root / "pin.patch"
    patch.write_text(diff)
    done = run(("git", "apply", *flags, patch), sandbox.variables(VARIABLES), directory=project)
    assert done.exit_code == 0, done.text


def _status(sandbox: Sandbox, prefix: Path) -> dict[str, Any]:
    document: dict[str, Any] = sandbox.cli("guard", "status", "--json", "--prefix", prefix, env=VARIABLES).document
    return document
