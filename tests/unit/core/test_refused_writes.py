"""Messages for writes that the kernel refuses."""

import errno
import os
from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.core.refused_writes import advice, reason


def refused(number: int, *names: str | None) -> OSError:
    """Return the error that Python raises for this error number and these file names."""
    return OSError(number, os.strerror(number), *names)


def test_an_error_about_an_open_file_is_told_of_the_place(golden: Golden) -> None:
    golden(reason(refused(errno.ENOSPC), Path("/env")))


def test_both_ends_of_a_rename_are_named(golden: Golden) -> None:
    error = OSError(errno.EXDEV, "Invalid cross-device link", "/env/a", None, "/env/b")
    golden(reason(error, Path("/env")))


@pytest.mark.parametrize(
    ("number", "command"),
    [
        (errno.ENOSPC, "df -h / && df -i /"),
        (errno.EDQUOT, "quota -s"),
        (errno.EROFS, "findmnt -T /"),
        (errno.EIO, "dmesg | tail"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EACCES, "ls -ld /"),
    ],
)
def test_the_hint_is_a_command_for_what_is_there(number: int, command: str) -> None:
    assert advice(refused(number, "/not-there/file"), Path("/env")).endswith(f": {command}")
