"""Unusual machines: users without a home, unreadable files, no /proc, no working directory."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.journal.environments import in_own_mounts, make_environment, picture, set_up
from support.machine.own_mounts import mount
from support.sandbox import Result, Sandbox, Variables, Venv, fastinstall, run

from fastinstall.core.errors import ExitCode, RefusedError
from fastinstall.journal.rollback import rollback
from fastinstall.setup.steps.build import refuse_unusable_compiler

UNKNOWN = 4711
"""A user ID without an entry in /etc/passwd."""

_MAY_READ_ALL = "+dac_override,+dac_read_search"
WHOM_NOBODY_KNOWS = (
    *("setpriv", f"--reuid={UNKNOWN}", f"--regid={UNKNOWN}", "--clear-groups"),
    *(f"--inh-caps={_MAY_READ_ALL}", f"--ambient-caps={_MAY_READ_ALL}"),
)
"""Runs a program as user `UNKNOWN`, who may still read the tests' interpreter in root's home."""

WITHOUT_RIGHTS = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
"""Runs a program as root without capabilities: file modes count, as for any other user."""


def cli_as(user: Sequence[str], sandbox: Sandbox, *arguments: str | Path, env: Variables | None = None) -> Result:
    """Run fastinstall through the command `user`, which changes the user; skip the test if that is impossible."""
    require_user(user)
    return run((*user, *fastinstall(arguments)), sandbox.variables(env), directory=sandbox.root)


def require_user(user: Sequence[str]) -> None:
    """Skip the test if programs cannot be run as this user."""
    if os.geteuid() != 0:
        pytest.skip("to become another user needs root: sudo -E python -m pytest")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is missing; it is in util-linux")
    tried = subprocess.run((*user, "true"), capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine does not let root become such a user: {tried.stderr.strip()}")


ROOT = Path(__file__).parents[2]
HOMELESS = {"HOME": None, "FASTINSTALL_CACHE_DIR": None}


@pytest.fixture
def venv(sandbox: Sandbox) -> Venv:
    """Return an environment without PIL: it is made quickly, and these tests need no PIL."""
    return sandbox.venv(running(), pip=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("recipes", "list"),
        ("completion", "bash"),
        ("doctor", "--prefix", "{env}"),
        ("doctor", "--all"),
        ("inspect", "--prefix", "{env}"),
        ("rollback", "--list", "--prefix", "{env}"),
        ("guard", "status", "--prefix", "{env}"),
    ],
    ids=" ".join,
)
def test_what_needs_no_cache_works_without_a_home(sandbox: Sandbox, venv: Venv, arguments: tuple[str, ...]) -> None:
    words = [word.format(env=venv.prefix) for word in arguments]
    told = cli_as(WHOM_NOBODY_KNOWS, sandbox, *words, env=HOMELESS)
    assert told.exit_code == ExitCode.OK, told.text
    assert "Traceback" not in told.text


def test_setup_without_a_home_names_variables_and_works_with_one(sandbox: Sandbox) -> None:
    with tempfile.TemporaryDirectory() as place:  # not pytest's directory, which the other user cannot enter
        Path(place).chmod(0o1777)
        words = ("setup", "--yes", "--new-env", Path(place) / "new", "--wheelhouse", sandbox.root)
        told = cli_as(WHOM_NOBODY_KNOWS, sandbox, *words, env=HOMELESS)
        assert told.exit_code == ExitCode.REFUSED, told.text
        assert str(UNKNOWN) in told.stderr
        assert "XDG_CACHE_HOME=DIR" in told.stderr
        assert not any(Path(place).iterdir())


def test_bootstrap_without_a_home_names_its_own_variable() -> None:
    told = run(("sh", ROOT / "bootstrap.sh", "--version"), {"PATH": "/usr/bin:/bin"})
    assert told.exit_code == ExitCode.REFUSED
    assert "HOME is not set" in told.stderr
    assert "hint: FASTINSTALL_HOME=DIR " in told.stderr


def test_bootstrap_says_which_directory_it_cannot_write(sandbox: Sandbox) -> None:
    require_user(WITHOUT_RIGHTS)
    home = sandbox.root / "closed"
    home.mkdir(mode=0o500)
    words = (*WITHOUT_RIGHTS, "sh", ROOT / "bootstrap.sh", "--version")
    told = run(words, {**sandbox.variables(), "HOME": str(home), "FASTINSTALL_BOOTSTRAP_PYTHON": sys.executable})
    assert told.exit_code == ExitCode.FAILED_UNCHANGED
    assert f"{home}/.local/share/fastinstall" in told.stderr
    assert "FASTINSTALL_HOME=DIR XDG_CACHE_HOME=DIR" in told.stderr


@pytest.mark.parametrize("path", ["--prefix", "--new-env", "--python"])
def test_a_home_of_somebody_unknown_is_a_name_like_any_other(sandbox: Sandbox, path: str) -> None:
    told = sandbox.cli("setup", "--dry-run", path, "~no-such-user/env")
    assert told.exit_code != ExitCode.BUG, told.text


@pytest.mark.parametrize("verb", ["doctor", "inspect", "setup --dry-run", "rollback", "guard status", "bench"])
@pytest.mark.parametrize("closed", ["file", "directory", "prefix"])
def test_an_interpreter_that_may_not_be_read_is_told_as_such(sandbox: Sandbox, verb: str, closed: str) -> None:
    place = sandbox.root / "closed"
    (place / "bin").mkdir(parents=True)
    python = place / "bin" / "python"
    shutil.copy("/bin/true", python)
    (python if closed == "file" else place).chmod(0)
    target = ("--prefix", place) if closed == "prefix" else ("--python", python)
    told = cli_as(WITHOUT_RIGHTS, sandbox, *verb.split(), *target)
    place.chmod(0o700)
    assert told.exit_code == ExitCode.UNDETERMINED, told.text
    assert str(place) in told.stderr
    assert "ermission denied" in told.stderr or "not executable" in told.stderr
    assert "hint: " in told.stderr


def test_an_environment_that_may_not_be_made_is_reported_as_such(sandbox: Sandbox) -> None:
    place = sandbox.root / "closed"
    place.mkdir(mode=0)
    told = cli_as(WITHOUT_RIGHTS, sandbox, "setup", "--dry-run", "--new-env", place / "new")
    assert told.exit_code not in (ExitCode.BUG, ExitCode.OK), told.text
    assert "ermission denied" in told.stderr
    assert "hint: " in told.stderr


def test_a_working_directory_that_is_gone_is_named(sandbox: Sandbox) -> None:
    gone = sandbox.root / "gone"
    gone.mkdir()
    words = ("sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *fastinstall(("doctor", "--prefix", "env")))
    told = run(words, {**sandbox.variables(), "PYTHONPATH": str(ROOT)}, directory=gone)
    assert told.exit_code == ExitCode.USAGE, told.text
    assert "working directory" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("doctor", "--prefix", "{env}"), ExitCode.OK),
        (("doctor", "--all"), ExitCode.OK),
        (("inspect", "--prefix", "{env}"), ExitCode.OK),
        (("rollback", "--yes", "--prefix", "{env}"), ExitCode.REFUSED),
    ],
    ids=str,
)
def test_without_proc_a_verb_works(
    sandbox: Sandbox, venv: Venv, arguments: tuple[str, ...], exit_code: ExitCode
) -> None:
    words = [word.format(env=venv.prefix) for word in arguments]

    def scenario() -> None:
        mount("tmpfs", Path("/proc"))
        told: Result = sandbox.cli(*words)
        assert told.exit_code == exit_code, told.text

    in_own_mounts(scenario)


def test_without_proc_files_are_kept_beside_those_they_replace(tmp_path: Path) -> None:
    def scenario() -> None:
        store = make_environment(tmp_path / "env")
        before = picture(store.prefix)
        mount("tmpfs", Path("/proc"))
        set_up(store)
        rollback(store)
        assert picture(store.prefix) == before

    in_own_mounts(scenario)


def test_a_compiler_that_exists_but_does_not_run_is_not_missing(sandbox: Sandbox) -> None:
    """The compiler fails like Zig without /proc: Zig then cannot find its own files."""
    compiler = sandbox.root / "cc"
    compiler.write_text("#!/bin/sh\necho it has no heart >&2\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(RefusedError, match=f"{compiler} cannot run") as told:
        refuse_unusable_compiler({"PATH": "/usr/bin:/bin", "CC": str(compiler)})
    assert "stderr: it has no heart" in told.value.details


@pytest.mark.parametrize("verb", ["inspect", "doctor"])
def test_read_only_commands_need_no_writable_temporary_directory(sandbox: Sandbox, venv: Venv, verb: str) -> None:
    """As in a read-only container, no file can be written: a limit of zero bytes for files simulates that."""
    told = run(_without_room(*fastinstall((verb, "--prefix", venv.prefix))), sandbox.variables())
    assert told.exit_code == ExitCode.OK, told.text


def test_a_lack_of_room_for_temporary_files_names_the_variable(sandbox: Sandbox) -> None:
    code = "from fastinstall.core.temporary_directories import temporary_directory\nwith temporary_directory('a'): pass"
    told = run(_without_room(sys.executable, "-c", code), {**sandbox.variables(), "PYTHONPATH": str(ROOT)})
    assert "FailedError: " in told.stderr
    assert "TMPDIR" in told.stderr


def _without_room(*argv: str | Path) -> tuple[str | Path, ...]:
    return ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *argv)
