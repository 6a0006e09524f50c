"""The log of a run, in the user's state directory, without secrets.

A log that cannot be written is no reason to stop.
"""

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from fastinstall.system.directories import user_directories

_KEPT = 50
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


class RunLog:
    """Lines with a time, written as they come.

    Args:
        path: the file; None where no log could be opened.
        stream: open on that file.
        home: replaced by "~" in every line.
    """

    def __init__(self, path: Path | None, stream: TextIO | None, home: str) -> None:
        self.path = path
        self._stream = stream
        self._home = home

    def write(self, text: str) -> None:
        """Add one or more lines."""
        if self._stream is None:
            return
        redacted = _CREDENTIALS.sub("***@", text)
        if len(self._home) > 1:
            redacted = redacted.replace(self._home, "~")
        try:
            self._stream.write(f"{datetime.now(UTC):%H:%M:%S} {redacted.rstrip()}\n")
            self._stream.flush()
        except OSError:
            self._stream = None

    def close(self) -> None:
        """Nothing is written any more."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def open_log(variables: Mapping[str, str], words: Sequence[str]) -> RunLog:
    """Open the log of this run; the oldest of many are removed."""
    home = variables.get("HOME", "")
    directory = user_directories(variables).state / "log"
    path = directory / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for old in sorted(directory.glob("*.log"))[:-_KEPT]:
            old.unlink(missing_ok=True)
        stream = path.open("x", encoding="utf-8", errors="surrogateescape")
    except OSError:
        return RunLog(None, None, home)
    log = RunLog(path, stream, home)
    log.write("fastinstall " + " ".join(words))
    return log
