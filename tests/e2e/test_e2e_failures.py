"""Failed setups: interruptions, failing builds and full disks leave the environment unchanged."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.machine.processes import command_lines, lasting_command_lines
from support.sandbox import ONE_LEVEL, Sandbox, Venv, tree_hash
from support.suite import extent

ALL = extent.every_row

STAGES = ("staging ", "running real operations", "replacing the files", "running doctor's checks")


@pytest.fixture
def venv(sandbox: Sandbox) -> Venv:
    return sandbox.venv(running(), pip=False)


def test_a_compiling_run_excludes_others_and_cleans_up_on_ctrl_c(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    reached = sandbox.root / "reached"
    compiler = sandbox.compiler(f"touch '{reached}'; sleep 300")
    words = ("setup", "--yes", "--prefix", venv.prefix, "--recipe", "plain", *ONE_LEVEL)
    cache = sandbox.cache_without()
    settings = {"CC": str(compiler), "FASTINSTALL_CACHE_DIR": str(cache), **sandbox.plain_recipe("plain")}
    with sandbox.started(*words, env=settings) as setup:
        setup.wait_until(reached.exists)
        second = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
        result = setup.end(by=signal.SIGINT)
    assert second.exit_code == 5, second.text
    assert f"{venv.prefix}: process {setup.process.pid} is working on this environment" in second.stderr
    assert result.exit_code == 130, result.text
    assert "interrupted" in result.stderr
    assert tree_hash(venv.prefix) == before
    assert lasting_command_lines(str(compiler)) == []
    assert list((cache / "tmp").iterdir()) == []


@pytest.mark.skipif(not ALL, reason="a whole build for a proof: --every-row")
def test_an_interruption_of_a_proof_ends_what_it_has_started(sandbox: Sandbox, venv: Venv) -> None:
    _fill_the_cache(sandbox)
    before = tree_hash(venv.prefix)
    cache = sandbox.cache_without("proofs")
    with sandbox.started(
        "setup", "-v", "--yes", "--prefix", venv.prefix, env={"FASTINSTALL_CACHE_DIR": str(cache)}
    ) as setup:
        setup.wait_for("proving ")
        setup.wait_until(lambda: bool(command_lines(f"--stage {cache}")))
        result = setup.end(by=signal.SIGINT)
    assert result.exit_code == 130, result.text
    assert "interrupted" in result.stderr
    assert "compared " not in result.stderr
    assert tree_hash(venv.prefix) == before
    assert lasting_command_lines(str(sandbox.root)) == []
    assert list((cache / "tmp").iterdir()) == []


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.strip().replace(" ", "-"))
def test_a_termination_at_any_later_moment_leaves_nothing_behind(sandbox: Sandbox, venv: Venv, stage: str) -> None:
    before = tree_hash(venv.prefix)
    with sandbox.started("setup", "-v", "--yes", "--prefix", venv.prefix) as setup:
        setup.wait_for(stage)
        result = setup.end(by=signal.SIGTERM)
    if stage == STAGES[-1] and result.exit_code == 0:
        assert "interrupted after the setup was done" in result.stderr, "the signal came after the commit"
        return
    assert result.exit_code == 130, result.text
    assert tree_hash(venv.prefix) == before


def test_interrupting_the_setup_of_a_new_environment_removes_it(sandbox: Sandbox) -> None:
    prefix = sandbox.root / "fast-env"
    with sandbox.started("setup", "-v", "--yes", "--new-env", prefix, "--python", running().executable) as setup:
        setup.wait_for("running real operations")
        result = setup.end(by=signal.SIGINT)
    assert result.exit_code == 130, result.text
    assert not prefix.exists()


def test_a_build_that_fails_shows_its_last_lines_and_its_log(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    compiler = sandbox.compiler("echo 'Resample.c:7: error: no more kernels' >&2; exit 1")
    words = ("setup", "--yes", "--prefix", venv.prefix, "--recipe", "plain", *ONE_LEVEL)
    result = sandbox.cli(*words, env={"CC": str(compiler), **sandbox.plain_recipe("plain")})
    assert result.exit_code == 6, result.text
    assert "error: the build failed" in result.stderr
    assert "Resample.c:7: error: no more kernels" in result.stderr
    log = Path(next(line for line in result.stderr.splitlines() if line.strip().startswith("log: ")).strip()[5:])
    assert "no more kernels" in log.read_text(encoding="utf-8")
    assert tree_hash(venv.prefix) == before


def test_a_full_disk_under_the_environment_changes_nothing(sandbox: Sandbox) -> None:
    _fill_the_cache(sandbox)
    with _small_disk(sandbox.root / "disk", "12m") as disk:
        venv = sandbox.venv(running(), name=disk / "env", pip=False)
        before = tree_hash(venv.prefix)
        result = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
        assert result.exit_code == 6, result.text
        assert "No space left on device" in result.stderr
        assert "hint: " in result.stderr
        assert tree_hash(venv.prefix) == before


def test_a_full_disk_under_the_cache_changes_nothing(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    with _small_disk(sandbox.root / "disk", "1m") as disk:
        result = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, env={"FASTINSTALL_CACHE_DIR": str(disk)})
    assert result.exit_code == 6, result.text
    assert "No space left on device" in result.stderr
    assert "hint: " in result.stderr
    assert tree_hash(venv.prefix) == before


def test_a_read_only_environment_is_refused(sandbox: Sandbox) -> None:
    with _small_disk(sandbox.root / "disk", "12m") as disk:
        venv = sandbox.venv(running(), name=disk / "env", pip=False)
        before = tree_hash(venv.prefix)
        subprocess.run(("mount", "-o", "remount,ro", disk), check=True, capture_output=True)
        result = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
        assert result.exit_code == 5, result.text
        assert f"{venv.site_packages} is not writable" in result.stderr
        assert "hint: " in result.stderr
        assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
        assert tree_hash(venv.prefix) == before


def _fill_the_cache(sandbox: Sandbox) -> None:
    """Build the wheel, so that it is in the cache and a setup writes only to the environment's disk."""
    result = sandbox.cli("build", "-o", sandbox.root / "wheels", "--python", running().executable)
    assert result.exit_code == 0, result.text


@contextmanager
def _small_disk(directory: Path, size: str) -> Iterator[Path]:
    """Mount a filesystem of this size; skip the test if this user may not mount one."""
    directory.mkdir()
    mount = shutil.which("mount") or "false"
    argv = (mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory)
    if subprocess.run(argv, check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not mount a small filesystem")
    try:
        yield directory
    finally:
        subprocess.run(("umount", "--lazy", directory), check=True, capture_output=True)
