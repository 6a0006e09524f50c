"""A process that stops before its first change, and continues once for each request, in a new fork.

So the work that a command does before its first change is done once, not in each run.
"""

import fcntl
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

_CHANGES = frozenset(
    {
        *("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
        *("os.chmod", "os.chown", "os.utime"),
    }
)
"""Audit events of changes; see https://docs.python.org/3/library/audit_events.html."""


def hold_before_change(within: Sequence[str], after: str, serve: Callable[[], None]) -> None:
    """Call `serve` once, before the first change in these directories; it returns in each fork that continues.

    Args:
        within: the directories. Every relative path counts as inside them, because an audit hook cannot resolve it.
        after: wait for the change until a program with this word in its command line was started; empty for no such
            condition.
        serve: forks this process, and returns in each fork.
    """
    is_held, is_due = False, not after
    own = os.getpid()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal is_held, is_due
        if os.getpid() != own or threading.current_thread() is not threading.main_thread():
            return
        if event == "subprocess.Popen":
            is_due = is_due or after in map(str, arguments[1])  # type: ignore[call-overload]
        if is_due and not is_held and event in _CHANGES and _may_change(event, arguments, within):
            is_held = True
            serve()

    sys.addaudithook(hook)


def _may_change(event: str, arguments: tuple[object, ...], within: Sequence[str]) -> bool:
    if event == "open" and not _writes(arguments[2]):
        return False
    named = arguments[:1] if event == "open" else arguments[:2]
    paths = [os.fsdecode(each) for each in named if isinstance(each, str | bytes | os.PathLike)]
    return any(not path.startswith("/") or path.startswith(tuple(within)) for path in paths)


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))


def serve_copies(run: Callable[[], int | None], pipes: tuple[int, int]) -> None:
    """Fork this process for each byte that is read, and write the fork's exit code; exit at the end of input.

    This process holds its locks while a fork runs, and releases them between forks.

    Args:
        run: forks and waits; returns None in the fork, and the fork's exit code in the parent.
        pipes: descriptors to read from and to write to.
    """
    asking, answering = pipes
    locked = _list_locked()
    _lock(locked, fcntl.LOCK_UN)
    os.write(answering, b"held\n")
    while os.read(asking, 1):
        _lock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        code = run()
        if code is None:
            return
        _lock(locked, fcntl.LOCK_UN)
        os.write(answering, b"%d\n" % code)
    os._exit(0)


def _list_locked() -> list[int]:
    """List this process's descriptors that hold a flock(2); see proc_pid_fdinfo(5)."""
    notes = Path("/proc/self/fdinfo")
    numbers = [int(path.name) for path in notes.iterdir()]
    return [
        number for number in numbers if (notes / str(number)).exists() and "FLOCK" in (notes / str(number)).read_text()
    ]


def _lock(descriptors: Sequence[int], how: int) -> None:
    for descriptor in descriptors:
        fcntl.flock(descriptor, how)
