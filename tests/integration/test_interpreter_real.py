"""Real interpreters and environments, and programs that are not interpreters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.environments.guarded import python_at_hand
from support.environments.observed import make_environment, site_packages
from support.hostile.inputs import put_no_file

from fastinstall.core.errors import ExitCode, UndeterminedError
from fastinstall.model.facts import EnvironmentKind, Interpreter
from fastinstall.observe import interpreter as probe
from fastinstall.observe.environments import locate
from fastinstall.observe.interpreter import observe_interpreter

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
ASK = """
import json, sys, sysconfig
print(json.dumps([sys.prefix, sys.base_prefix, sysconfig.get_path("platlib"), sysconfig.get_config_var("EXT_SUFFIX")]))
"""


def _python(version: str) -> Path:
    found = python_at_hand(version)
    if found is None:
        pytest.skip(f"no Python {version} here")
    return found


def _what_python_itself_says(python: Path) -> list[str]:
    import json

    answer = subprocess.run((python, "-I", "-c", ASK), capture_output=True, text=True, check=True)
    return [str(item) for item in json.loads(answer.stdout)]


def _places(observed: Interpreter) -> list[str]:
    places = (observed.prefix, observed.base_prefix, observed.site_packages, observed.extension_suffix)
    return [str(place) for place in places]


@pytest.mark.parametrize("tool", ["venv", "uv"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_without_site_is_what_python_itself_says(tmp_path: Path, version: str, tool: str) -> None:
    python = make_environment(tmp_path / "with space é", _python(version), tool=tool)
    observed = observe_interpreter(python)
    assert _places(observed) == _what_python_itself_says(python)
    assert observed.executable == python
    assert observed.version.startswith(f"{version}.")
    assert observed.abi == f"cp{version.replace('.', '')}"
    assert observed.pip_version is None
    assert observed.externally_managed is None


@pytest.mark.parametrize("version", VERSIONS)
def test_an_interpreter_outside_any_environment_describes_itself(version: str) -> None:
    base = Path(_what_python_itself_says(_python(version))[1]) / "bin" / f"python{version}"
    observed, told = observe_interpreter(base), _what_python_itself_says(base)
    if observed.externally_managed is not None:  # pip would not install into this interpreter's site-packages
        told[2] = str(observed.site_packages)
    assert _places(observed) == told


def test_the_pip_inside_is_told(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "env", _python("3.11"))
    (site_packages(python) / "pip-26.0.dist-info").mkdir()
    assert observe_interpreter(python).pip_version == "26.0"


def test_a_marked_python_is_externally_managed_its_venvs_are_not(tmp_path: Path) -> None:
    python = Path("/usr/bin/python3")
    markers = list(Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED"))
    if not python.exists() or not markers:
        pytest.skip("this system's Python is not marked")
    assert observe_interpreter(python).externally_managed in markers
    copied = tmp_path / "env"
    (copied / "bin").mkdir(parents=True)
    (copied / "bin/python").symlink_to(python)
    (copied / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert observe_interpreter(copied / "bin/python").externally_managed is None


def test_observing_writes_nothing_into_the_target(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "env", _python("3.11"))
    before = {str(path): path.lstat().st_mtime_ns for path in (tmp_path / "env").rglob("*")}
    observe_interpreter(python)
    assert {str(path): path.lstat().st_mtime_ns for path in (tmp_path / "env").rglob("*")} == before


@pytest.mark.parametrize("program", ["/bin/true", "/bin/cat"])
def test_a_program_that_is_no_python_cannot_be_determined(program: str) -> None:
    with pytest.raises(UndeterminedError, match="not that of a Python") as caught:
        observe_interpreter(Path(program))
    assert caught.value.exit_code == ExitCode.UNDETERMINED
    assert "--python" in str(caught.value.hint)


def test_settings_that_lead_to_no_python_are_named(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "env", _python("3.11"))
    (tmp_path / "env/pyvenv.cfg").write_text(f"home = {'x' * 70_000}\n")
    with pytest.raises(UndeterminedError) as caught:
        observe_interpreter(python)
    assert any(str(tmp_path / "env/pyvenv.cfg") in detail for detail in caught.value.details)


def _script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def test_a_file_that_cannot_be_executed_cannot_be_determined(tmp_path: Path) -> None:
    with pytest.raises(UndeterminedError, match="not executable"):
        observe_interpreter(_script(tmp_path / "python", "", 0o644))
    with pytest.raises(UndeterminedError, match="is a directory"):
        observe_interpreter(tmp_path)


def test_one_that_dies_is_named_with_its_signal(tmp_path: Path) -> None:
    with pytest.raises(UndeterminedError, match="killed by SIGSEGV"):
        observe_interpreter(_script(tmp_path / "python", "kill -SEGV $$"))


def test_one_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_TIMEOUT", 0.3)
    with pytest.raises(UndeterminedError, match="no answer within"):
        observe_interpreter(_script(tmp_path / "python", "sleep 60"))


def test_a_python_too_old_to_answer_is_told_with_its_version(tmp_path: Path) -> None:
    old = 'case "$*" in *"-c "*) printf 2.7.18;; *) exit 2;; esac'
    with pytest.raises(UndeterminedError, match=r"Python 2\.7\.18 is too old"):
        observe_interpreter(_script(tmp_path / "python", old))


def test_a_shim_leads_to_the_environment_behind_it(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "env", _python("3.11"))
    shim = _script(tmp_path / "python", f'exec "{python}" "$@"')
    found = locate(None, shim, {}, Path("/opt/fastinstall"))
    assert (found.prefix, found.python, found.kind) == (tmp_path / "env", python, EnvironmentKind.VENV)


def test_the_variables_of_the_shell_do_not_lead_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = make_environment(tmp_path / "env", _python("3.11"))
    for name in ("PYTHONHOME", "PYTHONPATH"):
        monkeypatch.setitem(os.environ, name, str(tmp_path))
    assert observe_interpreter(python).prefix == tmp_path / "env"


@pytest.mark.parametrize("kind", ["directory", "zeros", "fifo"])
def test_a_non_file_pyvenv_cfg_is_named_before_python_is_run(tmp_path: Path, kind: str) -> None:
    python = tmp_path / "env/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    put_no_file(tmp_path / "env/pyvenv.cfg", kind)
    with pytest.raises(UndeterminedError, match=r"env/pyvenv\.cfg: cannot be read"):
        observe_interpreter(python)
