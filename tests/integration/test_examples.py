"""Example workflows in the documentation: the tools accept them, and their steps run in order."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.environments.interpreters import running
from support.sandbox import STOCK, Sandbox, run
from support.suite import extent

from fastinstall.cli.parser import build_parser
from fastinstall.fleet.tool_wheels import make_tool_wheel

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / "examples" / "github-actions").glob("*.yml"))
PAGE = ROOT / "docs" / "how-to" / "guard-ci.md"
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
TEST = """
import unittest
from PIL import Image

class Resizing(unittest.TestCase):
    def test_it_resizes(self) -> None:
        self.assertEqual(Image.new("RGB", (9, 9)).resize((3, 3)).size, (3, 3))
"""


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_the_page_shows_the_file(file: Path) -> None:
    assert f'```yaml title=".github/workflows/{file.name}"\n{file.read_text()}```' in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_example_step_is_sound_shell_with_valid_commands(file: Path, tmp_path: Path) -> None:
    script = tmp_path / "steps.sh"
    lines = ("#!/bin/bash", "TOOL=tool FASTINSTALL=fastinstall", *(step["run"] for step in _steps(file)))
    script.write_text("\n".join(lines))
    linted = run((SHELLCHECK, script), os.environ)
    assert linted.exit_code == 0, linted.text
    ours = [shlex.split(line) for step in _steps(file) for line in step["run"].splitlines() if "$TOOL" in line]
    assert ours
    for _, *words in ours:
        build_parser().parse_args(words)


@pytest.mark.skipif(not extent.every_row, reason="takes minutes: --every-row")
def test_the_steps_of_a_test_job_run_in_their_order(sandbox: Sandbox) -> None:
    project = sandbox.root / "project"
    project.mkdir()
    (project / "requirements.txt").write_text("pillow>=12\n")
    (project / "test_resizing.py").write_text(TEST)
    workflow = yaml.safe_load(WORKFLOWS[-1].read_text())
    settings = {
        **sandbox.variables(_wishes()),
        "TOOL": str(project / ".tool/bin/fastinstall"),
        "FASTINSTALL": str(make_tool_wheel(sandbox.cache, sandbox.variables())),
        "PATH": f"{running().executable.parent}:{os.environ['PATH']}",
    }
    assert workflow["jobs"]["tests"]["env"].keys() <= settings.keys()
    for step in _steps(WORKFLOWS[-1]):
        done = run(("bash", "-e", "-c", step["run"]), settings, directory=project)
        assert done.exit_code == 0, (step, done.text)
    assert "<testsuite" in (project / "reports/fastinstall.xml").read_text()


def _wishes() -> Mapping[str, str]:
    """Return environment variables that select the tests' shared wheel, so that steps need no options."""
    words = iter(STOCK)
    return {f"FASTINSTALL_{flag.removeprefix('--').upper()}": value for flag, value in zip(words, words, strict=True)}


def _steps(file: Path) -> Iterator[Any]:
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        yield from (step for step in job["steps"] if "run" in step)
