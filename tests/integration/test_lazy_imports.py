"""CPython 3.15 can defer imports until a name is used (PEP 810): the guard and doctor report the same with it."""

from pathlib import Path

import pytest
from support.environments.guarded import make_guarded, warnings
from support.environments.interpreters import Python, of_version
from support.sandbox import Sandbox

MODES = ("normal", "all")


@pytest.fixture
def python() -> Python:
    found = of_version("3.15")
    if found is None:
        pytest.skip("there is no Python 3.15")
    return found


@pytest.mark.parametrize("imports", MODES)
def test_the_guard_warns_once_with_lazy_imports(python: Python, tmp_path: Path, imports: str) -> None:
    guarded = make_guarded(tmp_path, Path(python.executable))
    words = ("-X", f"lazy_imports={imports}", "-c", "import PIL; print(PIL.__version__)")
    assert warnings(guarded.run(*words)) == []
    guarded.swap()
    done = guarded.run(*words)
    assert (done.returncode, done.stdout, len(warnings(done))) == (0, "13.0.0\n", 1)


@pytest.mark.parametrize("status", ["ok", "error"])
def test_doctor_says_the_same_with_lazy_imports(python: Python, sandbox: Sandbox, status: str) -> None:
    venv = sandbox.venv(python, tool="uv")
    assert venv.uv("install", "pillow").exit_code == 0
    if status == "error":
        with venv.core.open("r+b") as core:
            core.truncate(100_000)
    said = []
    for imports in MODES:
        told = sandbox.cli("doctor", "--json", "--prefix", venv.prefix, env={"PYTHON_LAZY_IMPORTS": imports})
        said.append([(each["check"], each["status"], each["message"]) for each in told.document["findings"]])
    assert said[0] == said[1]
    assert ("pillow-importable", status) in {each[:2] for each in said[1]}
