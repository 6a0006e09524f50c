"""Standard streams that are closed or full, terminals that hang up, homes that cannot be written to."""

import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.sandbox import Sandbox

from fastinstall.core.errors import ExitCode

PROGRAM = f"{shlex.quote(sys.executable)} -m fastinstall"


def shell(line: str, variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command line in bash."""
    return subprocess.run(
        ("/bin/bash", "-o", "pipefail", "-c", line), env=variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("redirected", "code"),
    [
        (">&-", ExitCode.OK),
        ("2>&-", ExitCode.OK),
        ("<&- >&- 2>&-", ExitCode.OK),
        ("2>/dev/full", ExitCode.OK),
        ("| head -c 1", ExitCode.OK),
        ("| true", ExitCode.OK),
        (">/dev/full", ExitCode.FAILED_UNCHANGED),
    ],
)
def test_only_a_result_lost_to_a_full_disk_changes_the_exit_code(
    redirected: str, code: ExitCode, sandbox: Sandbox
) -> None:
    done = shell(f"{PROGRAM} doctor --list {redirected}", sandbox.variables())
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    if code:
        assert os.strerror(errno.ENOSPC) in done.stderr


@pytest.mark.parametrize("command", ["guard status", "rollback --list"])
def test_a_lost_list_of_a_changing_verb_is_no_change(command: str, sandbox: Sandbox) -> None:
    prefix = sandbox.venv(running(), pip=False).prefix
    done = shell(f"{PROGRAM} {command} --prefix {shlex.quote(str(prefix))} >/dev/full", sandbox.variables())
    assert done.returncode == ExitCode.FAILED_UNCHANGED, done.stderr
    assert "complete" not in done.stderr


@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME", "XDG_CACHE_HOME", "TMPDIR"])
@pytest.mark.parametrize("kind", ["a file", "not there", "read-only"])
def test_a_log_that_cannot_be_written_is_no_reason_to_stop(variable: str, kind: str, sandbox: Sandbox) -> None:
    place = sandbox.root / "place"
    if kind == "a file":
        place.write_text("not a directory")
    if kind == "read-only":
        place = Path("/proc/self")  # nobody can create files here, not even root
    done = sandbox.cli(
        "doctor",
        "environment",
        "--prefix",
        sandbox.venv(running(), pip=False).prefix,
        env={variable: str(place), **({"FASTINSTALL_CACHE_DIR": None} if "CACHE" in variable else {})},
    )
    assert done.exit_code in (ExitCode.OK, ExitCode.FINDINGS), done.text


def test_a_run_that_is_stopped_for_a_while_goes_on(sandbox: Sandbox) -> None:
    line = f"exec {PROGRAM} doctor --list"
    stopped = "sleep 0.05; kill -STOP $child; sleep 0.1; kill -CONT $child; wait $child"
    done = shell(f"({line}) & child=$!; {stopped}", sandbox.variables())
    assert done.returncode == ExitCode.OK, done.stderr
    assert "interrupted" in done.stdout


def test_a_run_under_nohup_goes_on_when_the_terminal_goes(sandbox: Sandbox) -> None:
    # the child inherits the trap: it ignores SIGHUP, as under nohup
    started = f"trap '' HUP; {PROGRAM} doctor --list & child=$!"
    done = shell(f"{started}; sleep 0.05; kill -HUP $child; wait $child", sandbox.variables())
    assert done.returncode == ExitCode.OK, done.stderr
