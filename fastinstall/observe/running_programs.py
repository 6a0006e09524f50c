"""Find running programs that hold files of a replaced Pillow, and need a restart.

A program that imported the earlier Pillow keeps its modules and libraries. What it imports later comes from the new
one, and the two may not fit. The kernel shows which files a process has mapped, by their present names: those that were
moved aside, and those that are deleted (proc_pid_maps(5)).
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core.process_table import PROCESSES
from fastinstall.journal.layout import ROOT
from fastinstall.model.effect import OutdatedProgram

_SECONDS = 1.0
_GONE = b" (deleted)"


def find_outdated_programs(
    prefix: Path, processes: Path = PROCESSES, seconds: float = _SECONDS
) -> tuple[OutdatedProgram, ...]:
    """Return the programs that have files of an earlier Pillow of an environment mapped, as far as this user may see.

    Args:
        prefix: root of the environment.
        processes: where the kernel lists processes.
        seconds: of CPU time, after which the search ends, with what was found by then.
    """
    within = os.fsencode(os.path.realpath(prefix)) + b"/"
    return tuple(sorted(_search(within, processes, time.thread_time() + seconds), key=lambda each: each.pid))


def _search(within: bytes, processes: Path, end: float) -> Iterator[OutdatedProgram]:
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 (a path object each is dear)
        if time.thread_time() > end:
            return
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            maps = Path(processes, name, "maps").read_bytes()
            if within in maps and any(_is_outdated(line, within) for line in maps.splitlines()):
                program = Path(processes, name, "comm").read_bytes().decode("utf-8", "replace").strip()
                yield OutdatedProgram(pid=int(name), name=program)
        except OSError:  # it has ended, or is not for us to see
            continue


def _is_outdated(line: bytes, within: bytes) -> bool:
    """Whether a line of the map shows a file of Pillow that was moved into our directory, or deleted."""
    start = line.find(within)
    path = line[start + len(within) :] if start >= 0 else b""
    is_pillow = b"/PIL/" in path or b"illow.libs/" in path or b"illow_simd.libs/" in path
    return is_pillow and (path.startswith(os.fsencode(ROOT) + b"/") or path.endswith(_GONE))
