"""Ansible itself, which may not support a new minor version of Python until ansible-core adapts to it."""

import subprocess
import sys
from pathlib import Path

import pytest


def require_ansible(program: Path) -> None:
    """Skip the test if a Python later than 3.14 cannot import ansible-core: 2.21 patches a function that 3.15 lacks.

    Args:
        program: `ansible-playbook`; the Python of its environment is tried.
    """
    pytest.importorskip("ansible")
    words = (program.with_name("python"), "-c", "import ansible.module_utils.basic")
    is_known_to_work = sys.version_info[:2] <= (3, 14)
    tried = None if is_known_to_work else subprocess.run(words, capture_output=True, text=True, check=False)
    if tried is not None and tried.returncode != 0:
        pytest.skip(f"ansible-core cannot be imported by this Python: {tried.stderr.strip().rpartition(chr(10))[2]}")
