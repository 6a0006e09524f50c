"""`setup --new-env` is killed: the next setup starts over, but never removes files that no setup created."""

import json
import subprocess
import sys
import time
from pathlib import Path

from support.machine.processes import command_lines
from support.sandbox import STOCK, Result, Sandbox

NOTE = ".fastinstall-creation"
TESTS = Path(__file__).resolve().parent.parent


def killed(sandbox: Sandbox, prefix: Path, *where: str) -> Result:
    """Run a setup that creates an environment and dies at the boundary `where` (see `faults.hooks.dies_where`)."""
    asked = json.dumps({"hook": "dies_where", "arguments": where})
    words = (sys.executable, "-m", "faults.program", asked, "setup", "--yes", "--new-env", prefix, *STOCK)
    variables = sandbox.variables({"PYTHONPATH": str(TESTS)})
    _wait_for_venv(prefix)
    done = subprocess.run(words, env=variables, cwd=sandbox.root, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return Result(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def begun_again(sandbox: Sandbox, prefix: Path, *where: str) -> Result:
    """Run and kill a setup again; assert that it first removes the leftovers of the previous one."""
    again = killed(sandbox, prefix, *where)
    assert "creating the environment" in again.text, again.text
    assert "its leftovers are removed" in again.text
    return again


def _wait_for_venv(prefix: Path) -> None:
    """Wait until processes that outlived an earlier setup have ended.

    A process that is between fork and exec may briefly show no command line, so wait until none is seen for one second.
    """
    deadline = time.monotonic() + 60
    last_seen = time.monotonic()
    while time.monotonic() < last_seen + 1:
        assert time.monotonic() < deadline, "venv does not end"
        if command_lines(str(prefix)):
            last_seen = time.monotonic()
        time.sleep(0.02)


def test_what_a_killed_one_leaves_is_made_again(sandbox: Sandbox) -> None:
    prefix = sandbox.root / "fast"
    killed(sandbox, prefix, "start", str(prefix), "after")
    begun_again(sandbox, prefix, "rename", "site-packages/PIL")
    told = sandbox.cli("doctor", "interrupted", "--prefix", prefix)
    assert f"fastinstall setup --yes --new-env {prefix}" in told.text, told.text
    killed(sandbox, prefix, "unlink", NOTE)
    assert [entry.name for entry in prefix.iterdir()] == [NOTE], "the note goes last"
    begun_again(sandbox, prefix, "unlink", NOTE, "before", "journal.creation_note.finish")
    assert (prefix / NOTE).is_file(), "the setup itself was committed"
    finished = sandbox.cli("setup", "--yes", "--prefix", prefix, *STOCK)
    assert finished.exit_code == 0, finished.text
    assert "clearing up after the setup" in finished.text
    assert not (prefix / NOTE).exists()
    assert sandbox.cli("doctor", "--quick", "--prefix", prefix).exit_code == 0


def test_what_somebody_has_put_there_since_is_not_cleared_away(sandbox: Sandbox) -> None:
    prefix = sandbox.root / "fast"
    killed(sandbox, prefix, "start", str(prefix))
    (prefix / "notes.txt").write_text("mine", encoding="utf-8")
    refused = sandbox.cli("setup", "--yes", "--new-env", prefix, *STOCK)
    assert (refused.exit_code, "notes.txt" in refused.text) == (5, True), refused.text
    assert (prefix / "notes.txt").read_text(encoding="utf-8") == "mine"
