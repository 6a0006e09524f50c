"""Kill running commands when this process dies without ending them (SIGKILL, out of memory).

Each command leads its own process group. A shell process receives the IDs of running groups through a pipe. The pipe
closes when this process dies; the shell then kills the groups, including grandchildren (make, cc).
PR_SET_PDEATHSIG is no alternative: it needs code between fork and exec, is tied to the thread that forked, and does not
reach grandchildren. Source: prctl(2).

A command survives if it changes its process group, or if this process dies within microseconds of starting the command.
"""

import os
import threading
from contextlib import suppress

_SCRIPT = """\
trap '' HUP INT TERM
groups=
while read -r sign group; do
    case "$sign$groups" in
    +*) groups="$groups $group " ;;
    *" $group "*) groups="${groups%%" $group "*}${groups#*" $group "}" ;;
    esac
done
for group in $groups; do
    kill -s KILL -- "-$group"
done
"""
_lock = threading.Lock()
_guardian: tuple[int, int] | None = None
"""ID of the process that started the shell, and file descriptor of the pipe's write end. A forked process starts its
own shell."""


def start_shell() -> None:
    """Start the shell in advance, so that a command can be registered as soon as it starts."""
    with _lock:
        _open_pipe()


def register_group(group: int) -> None:
    """Have the shell kill a process group if this process dies; do nothing without `/bin/sh`."""
    with _lock:
        _write(_open_pipe(), f"+ {group}\n")


def release_group(group: int) -> None:
    """Undo `register_group`, because the command has ended."""
    with _lock:
        if _guardian is not None and _guardian[0] == os.getpid():
            _write(_guardian[1], f"- {group}\n")


def _write(pipe: int | None, line: str) -> None:
    if pipe is not None:
        with suppress(OSError):  # the shell was killed: nothing will end the commands if this process dies
            os.write(pipe, line.encode("ascii"))


def _open_pipe() -> int | None:
    global _guardian  # noqa: PLW0603 (one shell per process, started with its first command)
    if _guardian is None or _guardian[0] != os.getpid():
        pipe = _spawn_shell()
        if pipe is None:
            return None
        _guardian = (os.getpid(), pipe)
    return _guardian[1]


def _spawn_shell() -> int | None:
    try:
        reader, writer = os.pipe()
    except OSError:
        return None
    streams = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    try:
        os.posix_spawn(
            "/bin/sh",
            ("/bin/sh", "-c", _SCRIPT),
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, reader, 0), *streams],
            setpgroup=0,  # so that the terminal's signals to our group do not reach the shell
        )
    except OSError:
        os.close(writer)
        return None
    finally:
        os.close(reader)
    return writer
