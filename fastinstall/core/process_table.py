"""The processes of this machine as the kernel lists them in /proc, without those that vanish or belong to others."""

import os
from collections.abc import Iterator
from pathlib import Path

PROCESSES = Path("/proc")


def commands(processes: Path = PROCESSES) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and argv of every process; threads of the kernel have none, and are left out.

    Source: proc_pid_cmdline(5).

    Args:
        processes: where the kernel lists them.
    """
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 (a path object each is dear)
        words = words_of(f"{processes}/{name}/cmdline") if name.isdigit() else ()
        if words:
            yield int(name), words


def words_of(file: str) -> tuple[str, ...]:
    """Return the words of a file in /proc that separates them by zeros; none if it cannot be read."""
    try:
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 (a path object each is dear)
            content = stream.read()
    except OSError:  # it has ended, or is not for us to see
        return ()
    return tuple(os.fsdecode(content).removesuffix("\0").split("\0")) if content else ()


def ancestors_of(number: int, processes: Path = PROCESSES) -> Iterator[int]:
    """Yield the process that started one, that one's, and so on. Source: proc_pid_stat(5)."""
    seen = {number}
    while (number := _read_parent(number, processes)) not in seen and number > 0:
        seen.add(number)
        yield number


def read_cpu_seconds(group: int, processes: Path = PROCESSES) -> float:
    """Return the CPU time in seconds of a process group, with that of ended children. Source: proc_pid_stat(5)."""
    ticks = 0
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 (a path object each is dear)
        fields = _read_fields(int(name), processes) if name.isdigit() else ()
        if len(fields) >= _CPU.stop and fields[2] == str(group):
            ticks += sum(map(int, fields[_CPU]))
    return ticks / os.sysconf("SC_CLK_TCK")


_CPU = slice(11, 15)
"""Of itself in user mode and in the kernel, and the same of its children."""


def _read_parent(number: int, processes: Path) -> int:
    fields = _read_fields(number, processes)
    return int(fields[1]) if len(fields) > 1 else 0


def _read_fields(number: int, processes: Path) -> tuple[str, ...]:
    """Return the fields of a process from its state on; none if it ended."""
    try:
        text = (processes / str(number) / "stat").read_text("utf-8", "replace")
    except OSError:
        return ()
    return tuple(text.rpartition(")")[2].split())  # a program's name may have blanks and parentheses
