"""Run commands as argv tuples, never through a shell; no other module starts subprocesses.

A failed command becomes a `CommandError` that shows argv, exit code and the last lines of both streams. Children are
killed with their whole process group on a timeout, an interruption, or the death of this process.
"""

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from fastinstall.core import orphans, process_table, signals
from fastinstall.core.errors import FailedError
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable

_LAST_LINES = 12
_LAST_BYTES = 20_000


@immutable
class Completed:
    """The result of a command that ended.

    Attributes:
        argv: the command line, word by word.
        exit_code: the exit status; negative if a signal ended the command (-4 for SIGILL).
        stdout: the standard output, decoded as UTF-8; undecodable bytes are replaced.
        stderr: the standard error, decoded in the same way; empty if it was merged into stdout.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    @property
    def signal_name(self) -> str:
        """Name of the signal that ended the command ("SIGILL"); empty if none did."""
        if self.exit_code >= 0:
            return ""
        try:
            return signal.Signals(-self.exit_code).name
        except ValueError:
            return f"signal {-self.exit_code}"

    @property
    def ending(self) -> str:
        """How the command ended, for messages: "killed by SIGILL", "exit code 2"."""
        return f"killed by {self.signal_name}" if self.signal_name else f"exit code {self.exit_code}"


class CommandError(FailedError):
    """A command failed, timed out or could not be started."""

    tag = "Command"

    def __init__(self, message: str, completed: Completed, *, hint: str | None = None, timed_out: bool = False) -> None:
        # The time limit is repeated in the details, because some callers keep only the details.
        limit = (f"{message.rpartition(': ')[2]}: killed",) if timed_out else ()
        super().__init__(redact_text(message), hint=hint, details=(*limit, *_list_last_lines(completed)))
        self.completed = completed
        self.timed_out = timed_out


class ProcessGroup:
    """The running commands of several threads; `pull` kills them all."""

    def __init__(self) -> None:
        self._children: set[subprocess.Popen[str]] = set()
        self._pulled = False
        self._lock = threading.Lock()

    def pull(self) -> None:
        """Kill all commands of the group; commands that join the group later are killed at once."""
        with self._lock:
            self._pulled = True
            children = tuple(self._children)
        for child in children:
            _kill_group(child)

    @contextmanager
    def holding(self, child: "subprocess.Popen[str]") -> Iterator[None]:
        """Make a command a member of the group while the block runs."""
        with self._lock:
            self._children.add(child)
            pulled = self._pulled
        if pulled:
            _kill_group(child)
        try:
            yield
        finally:
            with self._lock:
                self._children.discard(child)


def run(  # noqa: PLR0913 (all options of a subprocess, in one function)
    argv: Sequence[str | os.PathLike[str]],
    *,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    stdin: str = "",
    timeout: float | None = None,
    while_working: bool = False,
    check: bool = True,
    on_line: Callable[[str], None] | None = None,
    process_group: ProcessGroup | None = None,
    outlives_us: bool = False,
) -> Completed:
    """Run a command to its end.

    Args:
        argv: the program and its arguments; a program without a path is searched for on PATH.
        environment: all environment variables of the child; None for those of this process.
        directory: the child's working directory; None for that of this process.
        stdin: the child's whole standard input.
        timeout: seconds before the command's process group is killed; None for no limit.
        while_working: whether to extend the timeout as long as the command uses the CPU; for commands that take longer
            on a slow or emulated machine.
        check: whether to raise on a non-zero exit code.
        on_line: called with each line of stdout as it arrives; stderr is then merged into stdout.
        process_group: the group to join. Only the main thread receives interruptions, so a command that another thread
            runs can be stopped only through a group.
        outlives_us: whether the command may finish if this process is killed; for commands that must not stop halfway.

    Raises:
        CommandError: the command could not be started, timed out, or (with `check`) exited non-zero.
    """
    words = tuple(os.fspath(word) for word in argv)
    with (
        _start_process(words, environment, directory, joined=on_line is not None, outlives_us=outlives_us) as child,
        _kill_after(child, timeout, while_working=while_working) as expired,
        (process_group or ProcessGroup()).holding(child),
    ):
        completed = _collect(words, child, stdin, on_line)
    if expired.is_set():
        raise CommandError(f"{shlex.join(words)}: no answer within {timeout:g} s", completed, timed_out=True)
    if check and completed.exit_code != 0:
        raise CommandError(f"{shlex.join(words)}: {completed.ending}", completed)
    return completed


class Conversation:
    """A running command that answers each line on its stdin with a line on its stdout.

    The command's stderr goes to a file, so that the command never blocks on a full pipe.
    """

    def __init__(self, words: tuple[str, ...], child: "subprocess.Popen[str]", errors: IO[bytes]) -> None:
        self._words = words
        self._child = child
        self._errors = errors

    def ask(self, line: str, timeout: float | None = None) -> str:
        """Send one line and return the line that answers it.

        Args:
            line: the question, without a newline.
            timeout: seconds before the command's process group is killed; None for no limit.

        Raises:
            CommandError: the command ended without an answer, or did not answer in time.
        """
        if self._child.stdin is not None:
            with suppress(OSError):  # the command has ended; `listen` raises the error for that
                self._child.stdin.write(line + "\n")
                self._child.stdin.flush()
        return self.listen(timeout)

    def listen(self, timeout: float | None = None) -> str:
        """Wait for one line of the command's stdout, and return it.

        Raises:
            CommandError: the command ended without an answer, or did not answer in time.
        """
        with _kill_after(self._child, timeout) as expired:
            line = self._child.stdout.readline() if self._child.stdout is not None else ""
        if line.endswith("\n"):
            return line
        completed = Completed(argv=self._words, exit_code=self._child.wait(), stdout=line, stderr=self._read_errors())
        ending = f"no answer within {timeout:g} s" if expired.is_set() else completed.ending
        raise CommandError(f"{shlex.join(self._words)}: {ending}", completed, timed_out=expired.is_set())

    def _read_errors(self) -> str:
        end = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, end - _LAST_BYTES))
        return self._errors.read().decode("utf-8", "replace")


@contextmanager
def conversation(
    argv: Sequence[str | os.PathLike[str]], *, environment: Mapping[str, str] | None = None
) -> Iterator[Conversation]:
    """Start a command and yield a conversation with it; kill the command when the block ends."""
    import tempfile  # slow to import; doctor starts no conversation

    words = tuple(os.fspath(word) for word in argv)
    with (
        tempfile.TemporaryFile() as errors,
        _start_process(words, environment, None, joined=False, errors=errors) as child,
    ):
        yield Conversation(words, child, errors)


@contextmanager
def _start_process(
    words: tuple[str, ...],
    environment: Mapping[str, str] | None,
    directory: Path | None,
    *,
    joined: bool,
    errors: IO[bytes] | None = None,
    outlives_us: bool = False,
) -> Iterator["subprocess.Popen[str]"]:
    with ExitStack() as held:
        with signals.defer_signals():
            if not outlives_us:
                orphans.start_shell()
            try:
                child = subprocess.Popen(  # noqa: S603 (argv tuple, no shell)
                    words,
                    env=dict(environment) if environment is not None else None,
                    cwd=directory,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if joined else errors or subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                nothing = Completed(argv=words, exit_code=127, stdout="", stderr="")
                raise CommandError(f"{words[0]}: cannot be started: {error.strerror or error}", nothing) from error
            held.callback(_end, child)
            if not outlives_us:
                orphans.register_group(child.pid)
        yield child


@signals.defer_signals()
def _end(child: "subprocess.Popen[str]") -> None:
    _kill_group(child)
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            _close(stream)
    child.wait()
    orphans.release_group(child.pid)


_WORKING = 0.01
"""A process group that uses more than this share of one CPU counts as working."""


@contextmanager
def _kill_after(
    child: "subprocess.Popen[str]", timeout: float | None, *, while_working: bool = False
) -> Iterator[threading.Event]:
    expired = threading.Event()
    if timeout is None:
        yield expired
        return
    ended = threading.Event()

    def watch() -> None:
        used = 0.0
        while not ended.wait(timeout):
            before, used = used, process_table.read_cpu_seconds(child.pid) if while_working else 0.0
            if used - before <= _WORKING * timeout:
                expired.set()
                _kill_group(child)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield expired
    finally:
        ended.set()


def _collect(
    words: tuple[str, ...], child: "subprocess.Popen[str]", stdin: str, on_line: Callable[[str], None] | None
) -> Completed:
    if on_line is None:
        stdout, stderr = child.communicate(stdin)
        return Completed(argv=words, exit_code=child.returncode, stdout=stdout, stderr=stderr)
    if child.stdin is not None:
        with suppress(OSError):  # the command has ended, and its exit code is reported
            child.stdin.write(stdin)
            child.stdin.flush()
        _close(child.stdin)
    lines: list[str] = []
    for line in child.stdout or ():
        lines.append(line)
        on_line(line.rstrip("\n"))
    return Completed(argv=words, exit_code=child.wait(), stdout="".join(lines), stderr="")


def _close(stream: object) -> None:
    with suppress(OSError):  # the child ended first: no output is lost
        stream.close()  # type: ignore[attr-defined]  # any text stream


def _kill_group(child: "subprocess.Popen[str]") -> None:
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _list_last_lines(completed: Completed) -> tuple[str, ...]:
    streams = (("stdout", completed.stdout), ("stderr", completed.stderr))
    return tuple(
        f"{name}: {redact_text(line)}"
        for name, text in streams
        for line in text.rstrip().splitlines()[-_LAST_LINES:]
        if line.strip()
    )
