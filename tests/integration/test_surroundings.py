"""What influences a run from outside: umask, PATH, a settings file in the working directory, a cache."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import SourceFileLoader
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType

import pytest
from support.machine.umask import umask

from fastinstall.cli.console import write_lines
from fastinstall.compilers.system import observe_compiler
from fastinstall.core.directories import hooks_directory
from fastinstall.core.errors import ExitCode, RefusedError
from fastinstall.core.surroundings import find_program, make_private, restrict_surroundings
from fastinstall.observe.recipes import load_recipes
from fastinstall.setup.steps.create_environment import CreateEnvironment

EVE = 12345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture
def everybodys(tmp_path: Path) -> Path:
    """Return a directory that every user may write to, like /tmp."""
    directory = tmp_path / "everybodys"
    directory.mkdir()
    directory.chmod(0o1777)
    return directory


@pytest.fixture
def careless() -> Iterator[None]:
    with umask(0):
        yield


def program(directory: Path, name: str = "cc", owner: int = -1) -> Path:
    """Write a program that creates the file `it-ran` beside itself when it runs."""
    path = directory / name
    path.write_text(f"#!/bin/sh\ntouch {directory}/it-ran\n")
    path.chmod(0o755)
    os.chown(path, owner, -1)
    return path


@needs_root
def test_another_users_compiler_in_an_open_directory_is_not_run(everybodys: Path) -> None:
    program(everybodys, owner=EVE)
    with pytest.raises(RefusedError, match=rf"{everybodys} \(mode 1777, owner root\): anyone") as told:
        observe_compiler((), {"PATH": f"{everybodys}:/usr/bin"})
    assert "PATH" in (told.value.hint or "")
    assert not (everybodys / "it-ran").exists()


@needs_root
def test_a_link_of_another_user_is_as_little_trusted_as_a_file(everybodys: Path) -> None:
    (everybodys / "cc").symlink_to("/usr/bin/env")
    os.chown(everybodys / "cc", EVE, -1, follow_symlinks=False)
    with pytest.raises(RefusedError, match="owner 12345"):
        find_program("cc", {"PATH": str(everybodys)})


@needs_root
def test_another_users_recipe_in_an_open_directory_is_not_read(everybodys: Path) -> None:
    recipe = everybodys / "pillow.toml"
    recipe.write_text("schema = 1\n")
    os.chown(recipe, EVE, -1)
    with pytest.raises(RefusedError, match="anyone may put") as told:
        load_recipes((everybodys,))
    assert "FASTINSTALL_RECIPES" in (told.value.hint or "")


@pytest.mark.usefixtures("careless")
def test_our_directories_are_for_this_user_alone_under_any_umask(tmp_path: Path) -> None:
    made = make_private(tmp_path / "a/b/c")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (made, *made.parents[:2])] == [0o700] * 3


@pytest.mark.usefixtures("careless")
def test_a_run_has_a_strict_umask_and_searches_path_with_care(
    everybodys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f".:{everybodys}:/usr/bin::")
    with restrict_surroundings():
        (everybodys / "made").mkdir()
        inside = os.environ["PATH"]
    assert inside == "/usr/bin"
    assert os.environ["PATH"] == f".:{everybodys}:/usr/bin::"
    assert stat.S_IMODE((everybodys / "made").stat().st_mode) == 0o755


@needs_root
def test_an_open_path_entry_counts_until_others_add_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    tools.chmod(0o777)
    program(tools, "ours")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin")
    with restrict_surroundings():
        assert os.environ["PATH"] == f"{tools}:/usr/bin"
    program(tools, "uname", owner=EVE)
    with restrict_surroundings():
        assert os.environ["PATH"] == "/usr/bin"


@needs_root
def test_what_root_creates_in_a_users_home_belongs_to_that_user(tmp_path: Path) -> None:
    os.chown(tmp_path, EVE, EVE)
    made = make_private(tmp_path / ".local/state/fastinstall")
    for directory in (made, *made.parents[:2]):
        status = directory.stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (EVE, EVE, 0o700)


@needs_root
def test_another_users_working_directory_settings_are_refused(everybodys: Path) -> None:
    settings = everybodys / "fastinstall.toml"
    settings.write_text('level = "x86-64-v2"\n')
    os.chown(settings, EVE, -1)
    refused = _run(everybodys, "recipes", "list", "--json")
    assert refused.returncode == ExitCode.REFUSED
    assert str(settings) in json.loads(refused.stdout)["message"]
    os.chown(settings, 0, -1)
    assert _run(everybodys, "recipes", "list", "--json").returncode == ExitCode.OK


def test_working_directory_modules_are_ignored_and_logs_private(everybodys: Path) -> None:
    for name in ("venv", "json", "logging", "ensurepip", "pip"):
        (everybodys / f"{name}.py").write_text(f"open({str(everybodys / 'it-ran')!r}, 'w')\n")
    shown = _run(everybodys, "setup", "--dry-run", "--offline", "--new-env", str(everybodys / "env"), CI="1")
    assert not (everybodys / "it-ran").exists(), shown.stderr
    logs = list((everybodys / "home/.local/state/fastinstall/log").iterdir())
    assert logs
    assert {stat.S_IMODE(log.stat().st_mode) for log in logs} == {0o600}
    assert stat.S_IMODE((everybodys / "home/.local").stat().st_mode) == 0o700


def test_the_guard_follows_no_link_in_the_temporary_directory(
    everybodys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis").write_text("mine")
    (everybodys / f"fastinstall-guard-{os.getuid()}").symlink_to(tmp_path / "precious")
    monkeypatch.setenv("TMPDIR", str(everybodys))
    assert _process_tree().record_warning("/a/file")
    assert (tmp_path / "precious/thesis").read_text() == "mine"
    assert len(list((tmp_path / "precious").iterdir())) == 1


@needs_root
def test_the_guard_writes_nothing_to_another_users_directory(everybodys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = everybodys / f"fastinstall-guard-{os.getuid()}"
    planted.mkdir(0o777)
    os.chown(planted, EVE, -1)
    monkeypatch.setenv("TMPDIR", str(everybodys))
    assert _process_tree().record_warning("/a/file")
    assert not list(planted.iterdir())


def _process_tree() -> ModuleType:
    """Import and return the guard's module that records warnings."""
    loader = SourceFileLoader("process_tree", str(hooks_directory() / "_fastinstall_guard/process_tree.py"))
    module = ModuleType("process_tree")
    loader.exec_module(module)
    return module


def test_a_venv_module_in_the_working_directory_is_not_used(
    everybodys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (everybodys / "venv.py").write_text(f"open({str(everybodys / 'it-ran')!r}, 'w')\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@" --without-pip\n')
    python.chmod(0o755)
    monkeypatch.chdir(everybodys)
    step = CreateEnvironment(prefix=tmp_path / "env", python=python, reason="a test")
    with step.hold_place(), step.create("2026-11-23T00:00:00Z", lambda: None):
        assert (tmp_path / "env/pyvenv.cfg").is_file()
    assert not (everybodys / "it-ran").exists()


def _run(directory: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run fastinstall in a directory, without the variables of the tests' own shell."""
    variables: Mapping[str, str] = {
        "PATH": f"{directory}:.:/usr/bin:/bin",
        "HOME": str(directory / "home"),
        "PIP_NO_INDEX": "1",
        **more,
    }
    argv = (sys.executable, "-m", "fastinstall", *words)
    return subprocess.run(
        argv, cwd=directory, env=variables, capture_output=True, text=True, check=False, umask=0, timeout=60
    )


def test_what_an_encoding_has_not_is_written_as_json_has_it() -> None:
    stream = TextIOWrapper(BytesIO(), encoding="ascii")
    text = json.dumps("é木\udce9\U0001f600", ensure_ascii=False)
    write_lines(stream, text)
    stream.seek(0)
    assert json.loads(stream.read()) == json.loads(text)
