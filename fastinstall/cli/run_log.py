"""The log of a run, without secrets, in the user's state directory.

If the log cannot be written, the run goes on without it.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from fastinstall.cli.console import strip_control_characters
from fastinstall.core.directories import user_directories
from fastinstall.core.secrets import find_secret_values, redact_text
from fastinstall.core.surroundings import make_private

_KEPT = 50


class RunLog:
    """A log file; each entry begins with the time in UTC and is written at once.

    Args:
        path: the path of the file; None if no log could be opened.
        stream: the open file; None if no log could be opened.
        home: the home directory, which is replaced by "~" in every line.
        known: the values of secrets, from `find_secret_values`.
    """

    def __init__(self, path: Path | None, stream: TextIO | None, home: str, known: Sequence[str] = ()) -> None:
        self.path = path
        self._stream = stream
        self._home = home
        self._known = known

    def write(self, text: str) -> None:
        """Add an entry of one or more lines."""
        if self._stream is None:
            return
        told = strip_control_characters(redact_text(text, self._known))
        if len(self._home) > 1:
            told = told.replace(self._home, "~")
        try:
            self._stream.write(f"{datetime.now(UTC):%H:%M:%S} {told.rstrip()}\n")
            self._stream.flush()
        except OSError:
            self._stream = None

    def close(self) -> None:
        """Close the file; later entries are ignored."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def open_log(variables: Mapping[str, str], words: Sequence[str]) -> RunLog:
    """Open the log of this run, and delete all earlier logs except the newest `_KEPT`."""
    home = variables.get("HOME", "")
    directory = user_directories(variables).state / "log"
    path = directory / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    try:
        make_private(directory)
        for old in sorted(directory.glob("*.log"))[:-_KEPT]:
            old.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        stream = os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape")
    except OSError:
        return RunLog(None, None, home)
    log = RunLog(path, stream, home, find_secret_values(variables))
    log.write(f"fastinstall {shlex.join(words)}")
    return log
