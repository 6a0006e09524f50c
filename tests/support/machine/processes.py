"""Finds processes of this machine by words of their command lines."""

import time
from pathlib import Path

_SECONDS = 10.0
_POLL = 0.02


def command_lines(word: str) -> list[str]:
    """Return the command lines that contain a word; arguments are separated by spaces."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # the process has ended
            continue
        lines += [line] if word in line else []
    return lines


def lasting_command_lines(word: str) -> list[str]:
    """Wait until no command line contains a word; return those that still do after ten seconds.

    A process that was killed takes a moment to end.
    """
    deadline = time.monotonic() + _SECONDS
    while (lines := command_lines(word)) and time.monotonic() < deadline:
        time.sleep(_POLL)
    return lines
