"""`ansible-test sanity` on the collection: all of its tests, each in the environment that ansible-test creates.

Modules must run on every Python that Ansible supports on hosts. The tests use the oldest and the newest Python of
this machine.
"""

import ensurepip
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.environments.interpreters import Python, of_version
from support.sandbox import Sandbox
from support.suite import extent

COLLECTION = Path(__file__).resolve().parents[2] / "integrations" / "ansible"
ALL = extent.every_row
_GET_PIP = """
import runpy, sys
sys.path.insert(0, {wheel!r})
sys.argv = ["pip", "install", *(word for word in sys.argv[1:] if not word.startswith("--no-"))]
runpy.run_module("pip", run_name="__main__")
"""
"""Replaces `get-pip.py`, which ansible-test would download: runs pip from the wheel that Python bundles."""


@pytest.mark.skipif(not ALL, reason="ansible-test makes its environments, for minutes: --every-row")
@pytest.mark.timeout(1800)
def test_the_collection_is_sane(sandbox: Sandbox) -> None:
    place = sandbox.root / "ansible_collections" / "fastinstall" / "stack"
    shutil.copytree(COLLECTION, place, ignore=shutil.ignore_patterns("__pycache__", "output"))
    bundled = next(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"), None)
    if bundled is None:
        pytest.skip("this Python has no pip of its own: python3-venv brings it")
    tester, hosts = _tester(), _hosts()
    script = sandbox.root / "home" / ".ansible" / "test" / "cache" / f"get_pip_{_pip_of(tester)}.py"
    variables = sandbox.variables()
    script.parent.mkdir(parents=True)
    script.write_text(_GET_PIP.format(wheel=str(bundled)), encoding="utf-8")
    places = [Path(sys.executable).parent, *(python.executable.parent for python in hosts)]
    variables["PATH"] = os.pathsep.join((*map(str, places), variables["PATH"]))
    controller = "{}.{}".format(*sys.version_info[:2])
    targets = (word for python in hosts for word in ("--target-python", f"{python}@{python.executable}"))
    words = ("sanity", "--controller", f"origin:python=venv/{controller}", *targets)
    argv = (str(Path(sys.executable).with_name("ansible-test")), *words)
    done = subprocess.run(argv, env=variables, cwd=place, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert 'test "validate-modules"' in text
    for python in hosts:
        assert f'test "import" on Python {python}\n' in text, text


def _tester() -> Path:
    """Return the directory of ansible-test."""
    found = importlib.util.find_spec("ansible_test")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _hosts() -> list[Python]:
    """Return the oldest and the newest Python on this machine that Ansible supports on hosts."""
    known = runpy.run_path(str(_tester() / "_util" / "target" / "common" / "constants.py"))
    versions = (*known["REMOTE_ONLY_PYTHON_VERSIONS"], *known["CONTROLLER_PYTHON_VERSIONS"])
    here = [python for python in map(of_version, versions) if python is not None]
    return [here[0], here[-1]] if len(here) > 1 else here


def _pip_of(tester: Path) -> str:
    """Return the pip version that ansible-test requires, with underscores for dots, as in the name of pip's script."""
    text = (tester / "_internal" / "python_requirements.py").read_text(encoding="utf-8")
    found = re.search(r"^ +pip='([\d.]+)'", text, re.MULTILINE)
    assert found is not None
    return found[1].replace(".", "_")
