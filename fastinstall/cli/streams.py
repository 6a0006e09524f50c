"""stdin, stdout and stderr as a run finds them: closed, in a poor encoding, read by one who leaves, on a full disk."""

import codecs
import contextlib
import os
import sys
from io import TextIOWrapper
from typing import TextIO, cast

_STREAMS = "fastinstall-streams"
"""The option (-X) that bears the encoding of the streams from one start to the next."""

_ESCAPED = "fastinstall.escaped"
"""How characters are written that an encoding has not: as JSON has them, "\\u00e9", so that a document stays one."""


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


def name_files_in_utf8() -> None:
    """Begin anew in Python's UTF-8 mode where the locale has another encoding for the names of files (PEP 540).

    What interpreters, records and receipts say of paths is UTF-8. With the encoding of a C or Latin-1 locale, no file
    could be found by it. An interpreter takes that encoding once, when it starts. The streams keep theirs.
    """
    encoding = sys._xoptions.get(_STREAMS)  # noqa: SLF001 (documented, for options of one's own)
    if isinstance(encoding, str):
        for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, _ESCAPED), (sys.stderr, _ESCAPED)):
            cast("TextIOWrapper", stream).reconfigure(encoding=encoding, errors=errors)
    elif sys.getfilesystemencoding() != "utf-8" and sys.executable and not sys.flags.utf8_mode:
        options = ("-X", "utf8", "-X", f"{_STREAMS}={sys.stdout.encoding}")
        with contextlib.suppress(OSError):
            os.execve(  # noqa: S606 (itself)
                sys.executable,
                (sys.executable, *options, *sys.orig_argv[1:]),
                {**os.environ, "PYTHONUTF8": "1"},
            )


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4)), error.end


codecs.register_error(_ESCAPED, _escape)


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
    except UnicodeEncodeError:  # a path that is no text, or a locale that is poor
        encoding = stream.encoding or "ascii"
        stream.write(line.encode(encoding, _ESCAPED).decode(encoding))


def _lead_nowhere(stream: TextIO) -> None:
    """So that what is still to be written, by us and by the interpreter as it ends, is written somewhere.

    Source: Python's documentation of the signal module, "Note on SIGPIPE".
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
