"""Users that a test runs fastinstall as, beside root: one whom the machine does not know, one without root's rights.

Both need setpriv(1) and root; tests skip elsewhere.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.sandbox import Result, Sandbox, Variables, fastinstall, run

UNKNOWN = 4711
"""A user ID without an entry in /etc/passwd."""

_MAY_READ_ALL = "+dac_override,+dac_read_search"
WHOM_NOBODY_KNOWS = (
    *("setpriv", f"--reuid={UNKNOWN}", f"--regid={UNKNOWN}", "--clear-groups"),
    *(f"--inh-caps={_MAY_READ_ALL}", f"--ambient-caps={_MAY_READ_ALL}"),
)
"""Runs a program as that user, who may still read the tests' own interpreter in root's home directory."""

WITHOUT_RIGHTS = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
"""Runs a program as root for whom modes of files count, as for any other user."""


def cli_as(user: Sequence[str], sandbox: Sandbox, *arguments: str | Path, env: Variables | None = None) -> Result:
    """Run fastinstall as another user; skip where that is not possible."""
    require_user(user)
    return run((*user, *fastinstall(arguments)), sandbox.variables(env), directory=sandbox.root)


def require_user(user: Sequence[str]) -> None:
    """Skip where a program cannot be run as this user."""
    if os.geteuid() != 0:
        pytest.skip("to become another user needs root: sudo -E python -m pytest")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is missing; it is in util-linux")
    tried = subprocess.run((*user, "true"), capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine does not let root become such a user: {tried.stderr.strip()}")
