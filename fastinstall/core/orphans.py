"""Kill running commands when this process dies without ending them (SIGKILL, out of memory).

Each command leads a process group of its own. A small shell process reads from a pipe which groups run; the pipe ends
with this process, and then it kills them, with what they have started (make, cc). PR_SET_PDEATHSIG would not do: it
needs code between fork and exec, follows the thread that forked, and does not reach grandchildren. Source: prctl(2).

A command that changes its process group escapes, and so does one whose parent dies within microseconds of starting it.
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
"""The process that started the shell, and its end of the pipe: a forked copy starts a shell of its own."""


def start_shell() -> None:
    """Start the shell before a command is started, so that the command can be registered at once."""
    with _lock:
        _open_pipe()


def register_group(group: int) -> None:
    """Have a process group killed if this process dies; does nothing where there is no `/bin/sh`."""
    with _lock:
        _write(_open_pipe(), f"+ {group}\n")


def release_group(group: int) -> None:
    """Take back `register_group`: the command has ended."""
    with _lock:
        if _guardian is not None and _guardian[0] == os.getpid():
            _write(_guardian[1], f"- {group}\n")


def _write(pipe: int | None, line: str) -> None:
    if pipe is not None:
        with suppress(OSError):  # somebody killed the shell: commands run without it
            os.write(pipe, line.encode("ascii"))


def _open_pipe() -> int | None:
    global _guardian  # noqa: PLW0603 (one for the process, started with its first command)
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
            setpgroup=0,  # what a terminal sends to our group does not reach it
        )
    except OSError:
        os.close(writer)
        return None
    finally:
        os.close(reader)
    return writer
