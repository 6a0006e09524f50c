"""`ansible-test sanity` on the collection: all of its tests, each in the environment that it makes for itself."""

import ensurepip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox import Sandbox

COLLECTION = Path(__file__).resolve().parents[2] / "integrations" / "ansible"
ALL = bool(os.environ.get("FASTINSTALL_TEST_ALL_ROWS"))
_GET_PIP = """
import runpy, sys
sys.path.insert(0, {wheel!r})
sys.argv = ["pip", "install", *(word for word in sys.argv[1:] if not word.startswith("--no-"))]
runpy.run_module("pip", run_name="__main__")
"""
"""In the place of the script that ansible-test would fetch from its own server: pip comes from Python."""


@pytest.mark.skipif(not ALL, reason="ansible-test makes its environments, for minutes: FASTINSTALL_TEST_ALL_ROWS=1")
@pytest.mark.timeout(1800)
def test_the_collection_is_sane(sandbox: Sandbox) -> None:
    place = sandbox.root / "ansible_collections" / "fastinstall" / "stack"
    shutil.copytree(COLLECTION, place, ignore=shutil.ignore_patterns("__pycache__", "output"))
    bundled = next(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"), None)
    if bundled is None:
        pytest.skip("this Python has no pip of its own: python3-venv brings it")
    script = sandbox.root / "home" / ".ansible" / "test" / "cache" / "get_pip_24_2.py"
    variables = sandbox.variables()
    script.parent.mkdir(parents=True)
    script.write_text(_GET_PIP.format(wheel=str(bundled)), encoding="utf-8")
    python = "{}.{}".format(*sys.version_info[:2])
    variables["PATH"] = f"{Path(sys.executable).parent}:{variables['PATH']}"
    argv = (str(Path(sys.executable).with_name("ansible-test")), "sanity", "--venv", "--python", python)
    done = subprocess.run(argv, env=variables, cwd=place, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert 'Running sanity test "validate-modules"' in text
