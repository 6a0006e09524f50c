"""Cache, home and environment on full, noexec and read-only disks: each refusal names the disk and the reason."""

import hashlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.environments.interpreters import running
from support.journal.environments import fill, in_own_mounts
from support.machine.own_mounts import mount
from support.sandbox import STOCK, UNREACHABLE, Result, Sandbox, run

from fastinstall.core.errors import ExitCode, FailedError, RefusedError
from fastinstall.core.refused_writes import refuse_noexec
from fastinstall.index.downloads import store_download
from fastinstall.model.artefact import Artefact
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.prepare import PrivateHeaders

ROOT = Path(__file__).parents[2]
_READ_ONLY, _NOEXEC = 1, 8


def _mounted(directory: Path, options: str = "", *, flags: int = 0) -> Path:
    directory.mkdir()
    mount("tmpfs", directory, options, flags=flags)
    return directory


def _set_up(sandbox: Sandbox, *arguments: str | Path, **variables: str | None) -> Result:
    return sandbox.cli("setup", "--yes", *STOCK, *arguments, env=variables)


@pytest.fixture
def built(sandbox: Sandbox) -> Sandbox:
    """Return a sandbox whose cache has the built wheel and all its inputs."""
    made = sandbox.cli("build", *STOCK, "-o", sandbox.root / "wheels", "--python", running().executable)
    assert made.exit_code == 0, made.text
    return sandbox


@pytest.mark.slow
def test_a_full_cache_is_named_with_the_variable_that_moves_it(built: Sandbox) -> None:
    """The wheel is built already, so the first step without enough space is unpacking the wheel for the comparison."""
    sandbox = built

    def scenario() -> None:
        disk = _mounted(sandbox.root / "disk", "size=1m")
        for directory in sandbox.cache.glob("*"):
            if directory.name not in {"tmp", "proofs", "speed", "unpacked"}:
                (disk / directory.name).symlink_to(directory)
        fill(disk / "ballast", leave=64 << 10)
        told = _set_up(sandbox, "--new-env", sandbox.root / "new", FASTINSTALL_CACHE_DIR=str(disk))
        assert told.exit_code == ExitCode.FAILED_UNCHANGED, told.text
        assert f"error: {disk}" in told.stderr
        assert "No space left on device" in told.stderr
        assert f"df -h {disk}" in told.stderr
        assert "XDG_CACHE_HOME=DIR" in told.stderr
        assert not (sandbox.root / "new").exists()

    in_own_mounts(scenario)


def test_headers_that_find_no_room_are_not_called_unreachable(tmp_path: Path) -> None:
    """The step is called directly, because this machine has the libraries' headers and would never fetch them."""
    content = bytes(2 << 20)
    package = Artefact(
        name="libx-dev", version="1", filename="x.deb", url="", sha256=hashlib.sha256(content).hexdigest()
    )

    def write(path: Path) -> None:
        path.write_bytes(content)

    def fetch(artefact: Artefact, cache: Path, _: object) -> Path:
        return store_download(cache, artefact, write)

    def scenario() -> None:
        disk = _mounted(tmp_path / "disk", "size=1m")
        step = PrivateHeaders(packages=("libx-dev",), libraries=("tiff",), python="", artefacts=(package,), reason="")
        context = SimpleNamespace(cache=disk, index=SimpleNamespace(fetch=fetch), emit=repr)
        with pytest.raises(FailedError) as caught:
            step.fetch_packages(context)  # type: ignore[arg-type]  # only the three used parts
        assert "No space left on device" in caught.value.message
        assert "cannot be fetched" not in caught.value.message
        assert f"df -h {disk}" in (caught.value.hint or "")

    in_own_mounts(scenario)


def test_a_full_disk_for_a_venv_is_not_blamed_on_packages(tmp_path: Path) -> None:
    def scenario() -> None:
        disk = _mounted(tmp_path / "disk", "size=1m")
        step = CreateEnvironment(prefix=disk / "env", python=running().executable, reason="")
        with pytest.raises(FailedError) as caught, step.hold_place(), step.create("2026-01-31T12:00:00Z", lambda: None):
            pass
        assert f"df -h {disk}" in (caught.value.hint or "")
        assert "apt-get" not in (caught.value.hint or "")
        words = ("sh", ROOT / "bootstrap.sh", "--version")
        told = run(words, {**os.environ, "FASTINSTALL_HOME": str(disk), "FASTINSTALL_BOOTSTRAP_PYTHON": sys.executable})
        assert told.exit_code == ExitCode.FAILED_UNCHANGED
        assert f"df -h {disk}" in told.stderr
        assert "apt-get" not in told.stderr

    in_own_mounts(scenario)


@pytest.mark.parametrize("verb", [("setup", "--yes"), ("plan",), ("build", "--output", "wheels")])
def test_the_plan_refuses_a_noexec_cache(verb: tuple[str, ...], sandbox: Sandbox) -> None:
    def scenario() -> None:
        disk = _mounted(sandbox.root / "disk", flags=_NOEXEC)
        target = ("--python", sys.executable) if verb[0] == "build" else ("--new-env", sandbox.root / "new")
        told = sandbox.cli(*verb, *STOCK, *target, env={"FASTINSTALL_CACHE_DIR": str(disk / "cache")})
        assert told.exit_code == ExitCode.REFUSED, told.text
        assert f"{disk / 'cache'}: mounted noexec" in told.stderr
        assert "XDG_CACHE_HOME=DIR" in told.stderr
        assert not (disk / "cache" / "downloads").exists()
        assert not (sandbox.root / "new").exists()

    in_own_mounts(scenario)


@pytest.mark.parametrize(("flags", "why"), [(_NOEXEC, "mounted noexec"), (_READ_ONLY, "Read-only file system")])
@pytest.mark.parametrize("verb", [("setup", "--yes"), ("plan",)])
def test_the_plan_refuses_an_environment_on_a_disk_that_refuses(
    verb: tuple[str, ...], flags: int, why: str, sandbox: Sandbox
) -> None:
    def scenario() -> None:
        disk = _mounted(sandbox.root / "disk", flags=flags)
        told = sandbox.cli(*verb, *STOCK, "--new-env", disk / "new")
        assert told.exit_code == ExitCode.REFUSED, told.text
        assert f"{disk / 'new'}: {why}" in told.stderr
        assert f"findmnt -T {disk}" in told.stderr
        assert not any(disk.iterdir())

    in_own_mounts(scenario)


def test_a_path_to_be_created_is_judged_by_its_existing_parent(tmp_path: Path) -> None:
    refuse_noexec(tmp_path / "not" / "there", "")

    def scenario() -> None:
        disk = _mounted(tmp_path / "disk", flags=_NOEXEC)
        with pytest.raises(RefusedError, match="noexec"):
            refuse_noexec(disk / "not" / "there", "")

    in_own_mounts(scenario)


def test_a_read_only_home_is_reported_with_variables_to_avoid_it(sandbox: Sandbox) -> None:
    def scenario() -> None:
        home = str(_mounted(sandbox.root / "disk", flags=_READ_ONLY))
        told = _set_up(sandbox, "--new-env", sandbox.root / "new", HOME=home, FASTINSTALL_CACHE_DIR=None)
        assert told.exit_code == ExitCode.REFUSED, told.text
        assert f"{home}/.cache" in told.stderr
        assert f"findmnt -T {home}" in told.stderr
        assert "XDG_CACHE_HOME=DIR" in told.stderr
        assert "free some space" not in told.stderr
        variables = {**sandbox.variables(), "HOME": home, "FASTINSTALL_BOOTSTRAP_PYTHON": sys.executable}
        told = run(("sh", ROOT / "bootstrap.sh", "--version"), variables)
        assert told.exit_code == ExitCode.FAILED_UNCHANGED
        assert "FASTINSTALL_HOME=DIR XDG_CACHE_HOME=DIR" in told.stderr

    in_own_mounts(scenario)


@pytest.mark.parametrize("what", ["directory", "file", "below a file"])
def test_an_occupied_place_for_an_environment_is_refused_as_such(sandbox: Sandbox, what: str) -> None:
    place = sandbox.root / "taken"
    if what == "directory":
        place.mkdir()
        (place / "notes.txt").touch()
    else:
        place.touch()
    told = _set_up(sandbox, "--new-env", place / "new" if what == "below a file" else place)
    assert told.exit_code == ExitCode.REFUSED, told.text
    assert str(place) in told.stderr
    assert "--new-env" in told.stderr.partition("hint: ")[2]
    assert "use it instead" not in told.stderr
    assert os.path.lexists(place)


@pytest.mark.slow
def test_a_plan_with_a_built_wheel_is_refused_without_its_cache(built: Sandbox) -> None:
    words = (*STOCK, "--new-env", built.root / "new")
    made = built.cli("plan", *words, "-o", built.root / "plan.json")
    assert made.exit_code == 0, made.text
    other = {"FASTINSTALL_CACHE_DIR": str(built.root / "other")}
    told = built.cli("apply", "--yes", built.root / "plan.json", env=other)
    assert told.exit_code == ExitCode.REFUSED, told.text
    assert "fastinstall plan -o FILE" in told.stderr
    assert not (built.root / "new").exists()


@pytest.mark.slow
def test_a_second_setup_without_network_is_told_offline_works(built: Sandbox) -> None:
    first = _set_up(built, "--new-env", built.root / "first")
    assert first.exit_code == 0, first.text
    told = _set_up(built, "--new-env", built.root / "second", **UNREACHABLE)
    assert told.exit_code == ExitCode.FAILED_UNCHANGED, told.text
    assert "what was downloaded before: --offline" in told.stderr
    again = _set_up(built, "--new-env", built.root / "second", "--offline", **UNREACHABLE)
    assert again.exit_code == 0, again.text
