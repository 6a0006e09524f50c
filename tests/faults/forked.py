"""Runs functions in forks of this process, which saves the start of Python and the imports."""

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastinstall.cli import main as program
from fastinstall.cli.commands import doctor, guard, rollback, setup
from faults.doors import Hook, watched

_READY = (doctor, guard, rollback, setup)
"""Modules of verbs, imported here so that every fork has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A process that ended.

    Attributes:
        code: its exit code; negative if a signal ended it.
        text: its output on both streams.
    """

    code: int
    text: str


def forked(work: Callable[[], int]) -> Ended:
    """Run a function in a forked process with its own session, and wait until the process ends."""
    with tempfile.TemporaryFile() as said:
        child = start(work, said.fileno())
        _, status = os.waitpid(child, 0)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return Ended(code=os.waitstatus_to_exitcode(status), text=text)


def start(work: Callable[[], int], output: int) -> int:
    """Start a function in a forked process, which leads a session and a process group; return the process ID."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _live(work, output)
    return child


def command(
    words: Sequence[str],
    variables: Mapping[str, str],
    directory: Path,
    *,
    hook: Hook | None = None,
    within: Sequence[Path] = (),
) -> Callable[[], int]:
    """Return a function that runs fastinstall's command line, as an argument of `forked` or `start`.

    Args:
        words: the words after `fastinstall`.
        variables: all environment variables.
        directory: the working directory.
        hook: called at each boundary (see `watched`); None for no hook.
        within: see `watched`.
    """

    def work() -> int:
        os.environ.clear()
        os.environ.update(variables)
        tempfile.tempdir = None
        os.chdir(directory)
        if hook is None:
            return program.main(words)
        with watched(hook, within=within):
            return program.main(words)

    return work


def _live(work: Callable[[], int], output: int) -> None:
    code = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(output, stream)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        code = work()
    except BaseException:  # noqa: BLE001 (this process ends here, after it has printed its traceback)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
