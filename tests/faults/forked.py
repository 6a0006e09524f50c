"""Work in a process of its own that starts without starting Python: a copy of this one."""

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
"""Verbs that every copy finds imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A process that ended.

    Attributes:
        code: its exit code; negative where a signal ended it.
        text: what it printed on both streams.
    """

    code: int
    text: str


def forked(work: Callable[[], int]) -> Ended:
    """Run something in a copy of this process, in a session of its own, to its end."""
    with tempfile.TemporaryFile() as said:
        child = start(work, said.fileno())
        _, status = os.waitpid(child, 0)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return Ended(code=os.waitstatus_to_exitcode(status), text=text)


def start(work: Callable[[], int], output: int) -> int:
    """Begin something in a copy of this process; the number of that process, which leads a session and a group."""
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
    """fastinstall's command line as work for `forked`.

    Args:
        words: after `fastinstall`.
        variables: all environment variables.
        directory: that it runs in.
        hook: at the door; None for nobody.
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
    except BaseException:  # noqa: BLE001 (this process ends here: its traceback is all that it can leave)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
