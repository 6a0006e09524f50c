"""Skips tests if ansible-core cannot run under this Python, as it supports a new minor version only later."""

import subprocess
import sys
from pathlib import Path

import pytest


def require_ansible(program: Path) -> None:
    """Skip the test if ansible-core cannot be imported under a Python later than 3.14.

    ansible-core 2.21 patches a function that Python 3.15 lacks.

    Args:
        program: `ansible-playbook`; the Python of its environment is tried.
    """
    pytest.importorskip("ansible")
    words = (program.with_name("python"), "-c", "import ansible.module_utils.basic")
    is_known_to_work = sys.version_info[:2] <= (3, 14)
    tried = None if is_known_to_work else subprocess.run(words, capture_output=True, text=True, check=False)
    if tried is not None and tried.returncode != 0:
        pytest.skip(f"ansible-core cannot be imported by this Python: {tried.stderr.strip().rpartition(chr(10))[2]}")
