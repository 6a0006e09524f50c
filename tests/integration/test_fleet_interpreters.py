"""The interpreters that build a fleet's wheels: files that are only named like an interpreter are skipped."""

import sysconfig
from pathlib import Path

from support.environments.interpreters import running

from fastinstall.observe.interpreter import interpreter_with

VERSION = str(running())
ABI = f"cp{VERSION.replace('.', '')}{'t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''}"


def test_an_interpreter_is_found_behind_fakes_with_its_name(tmp_path: Path) -> None:
    name = f"python{VERSION}{'t' if ABI.endswith('t') else ''}"
    shims, directories, real = tmp_path / "shims", tmp_path / "directories", tmp_path / "real"
    for directory in (shims, directories / name, real):
        directory.mkdir(parents=True)
    (shims / name).write_text("#!/bin/sh\nexit 127\n")
    (shims / name).chmod(0o755)
    (real / name).symlink_to(running().executable)
    variables = {"PATH": f"{shims}:{directories}::{real}", "HOME": str(tmp_path)}
    found = interpreter_with(ABI, VERSION, (Path("/nowhere/python"),), variables)
    assert found is not None
    assert found.abi == ABI
    assert interpreter_with("cp399", "3.99", (running().executable,), variables) is None


def test_pyenv_and_uv_interpreters_not_on_path_are_found(tmp_path: Path) -> None:
    name = f"python{VERSION}{'t' if ABI.endswith('t') else ''}"
    for number, root in enumerate((".pyenv/versions", ".local/share/uv/python")):
        home = tmp_path / str(number)
        directory = home / root / "cpython" / "bin"
        directory.mkdir(parents=True)
        (directory / name).symlink_to(running().executable)
        assert interpreter_with(ABI, VERSION, (), {"HOME": str(home)}) is not None
