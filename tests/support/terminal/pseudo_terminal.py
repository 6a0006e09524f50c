"""A pseudo-terminal, with its screen rendered by pyte and keys to press."""

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

import pyte
from support.sandbox import AS_INSTALLED

COLUMNS, ROWS = 80, 24
ENTER, UP, DOWN, CTRL_C, CTRL_D = "\r", "\x1b[A", "\x1b[B", "\x03", "\x04"

# The first terminal that a new session opens becomes its controlling terminal, which Ctrl-C needs.
_ADOPT = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
_SECONDS = 1200.0


class _Screen(pyte.HistoryScreen):
    """Answers the queries that programs send to their terminal, such as that for the cursor's position."""

    def __init__(self, master: int, columns: int) -> None:
        super().__init__(columns, ROWS, history=2000)
        self._master = master

    def write_process_input(self, data: str) -> None:
        os.write(self._master, data.encode())


@dataclass(kw_only=True)
class Terminal:
    """A program that runs in a terminal.

    Attributes:
        process: the program.
        master: file descriptor of the terminal's other end.
        columns: width of the terminal.
        raw: all bytes that the program has written.
    """

    process: "subprocess.Popen[bytes]"
    master: int
    columns: int = COLUMNS
    raw: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._screen = _Screen(self.master, self.columns)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """The text of the screen and of the lines scrolled off above it."""
        above = ["".join(line[column].data for column in range(self.columns)) for line in self._screen.history.top]
        return "\n".join(line.rstrip() for line in (*above, *self._screen.display)).rstrip()

    @property
    def words(self) -> str:
        """The text in one line, with single spaces."""
        return " ".join(self.text.split())

    @property
    def rows(self) -> list[str]:
        """The rows of the screen."""
        return [row.rstrip() for row in self._screen.display]

    def listen(self, seconds: float = 0.2) -> None:
        """Read the program's output for some time."""
        self._read(time.monotonic() + seconds)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            os.write(self.master, key.encode())

    def resize(self, columns: int) -> None:
        """Change the width of the terminal, as a person does with a window."""
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))  # the kernel sends SIGWINCH
        self.columns = columns
        self._screen.resize(ROWS, columns)

    def expect(self, words: str, *, after: int = 0) -> int:
        """Wait until these words appear after the first `after` characters; return the index of their end."""
        deadline = time.monotonic() + _SECONDS
        while (found := self.words.find(words, after)) < 0:
            alive = self._read(deadline)
            assert alive or words in self.words[after:], f"it ended, and never said {words!r}:\n{self.text}"
            assert time.monotonic() < deadline, f"it does not say {words!r}:\n{self.text}"
        return found + len(words)

    def expect_written(self, words: str, *, after: int) -> None:
        """Wait until these words are written after the first `after` bytes, even if the screen showed them before."""
        deadline = time.monotonic() + _SECONDS
        while words.encode() not in self.raw[after:]:
            assert self._read(deadline), f"it ended, and never wrote {words!r} again:\n{self.text}"
            assert time.monotonic() < deadline, f"it does not write {words!r} again:\n{self.text}"

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        deadline = time.monotonic() + _SECONDS
        while self._read(deadline):
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
        return self.process.wait(timeout=10)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0.0, min(1.0, deadline - time.monotonic())))
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux's report that the other end is closed
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)


def terminal(
    *arguments: str | Path,
    variables: Mapping[str, str],
    directory: Path,
    stdout: Path | None = None,
    columns: int = COLUMNS,
) -> AbstractContextManager[Terminal]:
    """Run fastinstall in a terminal; see `python_in_terminal`."""
    words = (*AS_INSTALLED, "-m", "fastinstall", *arguments)
    return python_in_terminal(*words, variables=variables, directory=directory, stdout=stdout, columns=columns)


@contextmanager
def python_in_terminal(
    *arguments: str | Path,
    variables: Mapping[str, str],
    directory: Path,
    stdout: Path | None = None,
    columns: int = COLUMNS,
) -> Iterator[Terminal]:
    """Run the tests' Python in a terminal; it is killed if it still runs at the end of the block.

    Args:
        arguments: arguments of Python.
        variables: its environment variables.
        directory: its working directory.
        stdout: a file for its stdout; None for the terminal.
        columns: width of the terminal.
    """
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    results = stdout.open("wb") if stdout is not None else None
    argv = (sys.executable, "-c", _ADOPT, sys.executable, *arguments)
    process = subprocess.Popen(
        argv,
        stdin=slave,
        stdout=results or slave,
        stderr=slave,
        env={"TERM": "xterm-256color", **variables},
        cwd=directory,
        start_new_session=True,
    )
    os.close(slave)
    if results is not None:
        results.close()
    try:
        yield Terminal(process=process, master=master, columns=columns)
    finally:
        process.kill()
        process.wait(timeout=10)
        os.close(master)
