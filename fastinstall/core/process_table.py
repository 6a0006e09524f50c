"""Read the processes of this machine from /proc; those that end meanwhile or that this user may not see are skipped."""

import os
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core import foreign

PROCESSES = Path("/proc")


def commands(processes: Path = PROCESSES) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the process ID and argv of every process, except kernel threads, which have no argv.

    Source: proc_pid_cmdline(5).

    Args:
        processes: the directory in which the kernel lists processes.
    """
    for name in foreign.list_names(processes):
        words = words_of(f"{processes}/{name}/cmdline") if name.isdigit() else ()
        if words:
            yield int(name), words


def words_of(file: str) -> tuple[str, ...]:
    """Return the NUL-separated words of a file in /proc; empty if it cannot be read."""
    content = foreign.bytes_or_empty(file)
    return tuple(os.fsdecode(content).removesuffix("\0").split("\0")) if content else ()


def ancestors_of(number: int, processes: Path = PROCESSES) -> Iterator[int]:
    """Yield the ID of a process's parent, then of the parent's parent, and so on. Source: proc_pid_stat(5)."""
    seen = {number}
    while (number := _read_parent(number, processes)) not in seen and number > 0:
        seen.add(number)
        yield number


def read_cpu_seconds(group: int, processes: Path = PROCESSES) -> float:
    """Return the CPU seconds that a process group has used, including those of its processes' ended children.

    Source: proc_pid_stat(5).
    """
    ticks = 0
    for name in foreign.list_names(processes):
        fields = _read_fields(int(name), processes) if name.isdigit() else ()
        if len(fields) >= _CPU.stop and fields[2] == str(group):
            ticks += sum(map(int, fields[_CPU]))
    return ticks / os.sysconf("SC_CLK_TCK")


_CPU = slice(11, 15)
"""Fields with the CPU time of a process and of its ended children, each in user mode and in kernel mode."""


def _read_parent(number: int, processes: Path) -> int:
    fields = _read_fields(number, processes)
    return int(fields[1]) if len(fields) > 1 else 0


def _read_fields(number: int, processes: Path) -> tuple[str, ...]:
    """Return the fields of a process's `stat` file, from the field "state" on; empty if the process has ended."""
    text = foreign.text_or_empty(processes / str(number) / "stat")
    return tuple(text.rpartition(")")[2].split())  # the program's name may contain blanks and parentheses
