"""Skips tests whose needs the machine does not meet; in continuous integration, these tests fail."""

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_STARTED = frozenset({"cc", "gcc", "git", "groff", "rsync", "ssh-keygen", "sudo"})
"""System programs that tests start by name."""


def require_system(present: object, what: str) -> None:
    """Skip the test unless something of the system is present; fail if CI is set.

    Args:
        present: true if it is present.
        what: its name for the message: a package, a program, a right.
    """
    if present:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and in CI everything has to be there: tests/run_system_packages.py brings it")
    pytest.skip(f"{what} is missing; in a checkout: sh bootstrap.sh test brings it or names the command")


def require_plain_python() -> None:
    """Skip the test if the tests' interpreter cannot be copied into an environment like conda's.

    Debian's Python uses `site-packages` only in virtual environments, and `dist-packages` everywhere else.
    """
    if "deb_system" in sysconfig.get_scheme_names():
        pytest.skip("Debian's Python has no site-packages outside of virtual environments; another one has")


@contextmanager
def requiring_programs() -> Iterator[None]:
    """Skip the test (see `require_system`) if a system program cannot be started in the block."""
    try:
        yield
    except FileNotFoundError as error:
        if error.filename in _STARTED:
            require_system(None, str(error.filename))
        raise
