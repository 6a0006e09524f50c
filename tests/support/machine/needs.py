"""What a test needs of the machine. In continuous integration a skip for it is a failure."""

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_STARTED = frozenset({"cc", "gcc", "git", "groff", "rsync", "ssh-keygen", "sudo"})
"""Programs of the system that tests start by name."""


def require_system(present: object, what: str) -> None:
    """Skip unless something of the system is there; fail where CI is set.

    Args:
        present: whether it is.
        what: its name, for the message: a package, a program, a right.
    """
    if present:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and in CI everything has to be there: tests/run_system_packages.py brings it")
    pytest.skip(f"{what} is missing; in a checkout: sh bootstrap.sh test brings it or names the command")


def require_plain_python() -> None:
    """Skip where the interpreter of the tests cannot be copied into an environment like conda's.

    Debian's looks for `site-packages` in virtual environments alone, and for `dist-packages` anywhere else.
    """
    if "deb_system" in sysconfig.get_scheme_names():
        pytest.skip("Debian's Python has no site-packages outside of virtual environments; another one has")


@contextmanager
def requiring_programs() -> Iterator[None]:
    """Require the program of the system that could not be started in the block."""
    try:
        yield
    except FileNotFoundError as error:
        if error.filename in _STARTED:
            require_system(None, str(error.filename))
        raise
