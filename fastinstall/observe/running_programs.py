"""Find running programs that still use files of a replaced Pillow and need a restart.

A program that imported the replaced Pillow keeps that Pillow's modules and libraries in memory. If it imports further
modules, they come from the installed Pillow, and may not work with those in memory. The kernel lists the files that a
process has mapped by their current paths, which show that a file was moved aside or deleted (proc_pid_maps(5)).
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core.process_table import PROCESSES
from fastinstall.journal.layout import ROOT
from fastinstall.model.results import OutdatedProgram

_SECONDS = 1.0
_GONE = b" (deleted)"


def find_outdated_programs(
    prefix: Path, processes: Path = PROCESSES, seconds: float = _SECONDS
) -> tuple[OutdatedProgram, ...]:
    """Return the programs that have mapped files of an environment's replaced Pillow, as far as this user may see them.

    Args:
        prefix: root of the environment.
        processes: the directory in which the kernel lists processes: /proc.
        seconds: limit for the search, in seconds of CPU time; the programs found within the limit are returned.
    """
    within = os.fsencode(os.path.realpath(prefix)) + b"/"
    return tuple(sorted(_search(within, processes, time.thread_time() + seconds), key=lambda each: each.pid))


def _search(within: bytes, processes: Path, end: float) -> Iterator[OutdatedProgram]:
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 (creating paths is slow)
        if time.thread_time() > end:
            return
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            maps = Path(processes, name, "maps").read_bytes()
            if within in maps and any(_is_outdated(line, within) for line in maps.splitlines()):
                program = Path(processes, name, "comm").read_bytes().decode("utf-8", "replace").strip()
                yield OutdatedProgram(pid=int(name), name=program)
        except OSError:  # the process has ended, or this user may not see it
            continue


def _is_outdated(line: bytes, within: bytes) -> bool:
    """Return whether a line of /proc/PID/maps shows a file of Pillow that fastinstall moved aside, or a deleted one."""
    start = line.find(within)
    path = line[start + len(within) :] if start >= 0 else b""
    is_pillow = b"/PIL/" in path or b"illow.libs/" in path or b"illow_simd.libs/" in path
    return is_pillow and (path.startswith(os.fsencode(ROOT) + b"/") or path.endswith(_GONE))
