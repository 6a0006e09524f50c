"""stdin, stdout and stderr as a run finds them: closed, read by one who leaves, leading to a disk that is full."""

import os
import sys
from typing import TextIO, cast


def open_closed_streams() -> None:
    """Lead what the caller has closed (`>&-`) to nowhere: else the next file to be opened would take its place."""
    names = ("stdin", "stdout", "stderr")
    for descriptor, name in enumerate(names):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the kernel gives the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, _opened(descriptor))


class UnwrittenError(Exception):
    """The result of a run could not be written to stdout.

    Args:
        reason: the kernel's.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"stdout: {reason}: the result could not be written")


def put(stream: TextIO, text: str) -> None:
    """Write whole lines to stdout or stderr.

    To a reader who has left (`| head`) nothing is said any more, and that is no failure.

    Raises:
        OSError: as the kernel says; nothing is written there any more.
    """
    try:
        _write(stream, text if text.endswith("\n") else text + "\n")
        stream.flush()
    except BrokenPipeError:
        _lead_nowhere(stream)
    except OSError:
        _lead_nowhere(stream)
        raise


def _opened(descriptor: int) -> TextIO:
    return cast("TextIO", os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8", closefd=False))


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line)
    except UnicodeEncodeError:  # a path that is no text, or a locale that is poor; the escapes are JSON's, too
        encoding = stream.encoding or "ascii"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding))


def _lead_nowhere(stream: TextIO) -> None:
    """So that what is still to be written, by us and by the interpreter as it ends, is written somewhere.

    Source: Python's documentation of the signal module, "Note on SIGPIPE".
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
