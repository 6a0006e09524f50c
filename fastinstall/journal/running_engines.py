"""Engines that still change an environment after the process that called them has died.

Nothing is undone under their hands.
"""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.core.errors import RefusedError
from fastinstall.core.package_managers import CONDA, RATTLER, RunningProgram, change_of
from fastinstall.core.process_table import PROCESSES, commands

_ENGINES = (*CONDA, RATTLER)
"""What a setup calls; each gets the environment as a path."""


def refuse_during_external_change(prefix: Path, processes: Path = PROCESSES) -> None:
    """Refuse where a process still changes an environment.

    Args:
        processes: where the kernel lists them; see proc_pid_cmdline(5).

    Raises:
        RefusedError: one does; named by its number.
    """
    for number in _list_running_engines(prefix, processes):
        raise RefusedError(
            f"{prefix}: process {number} still changes packages there, for a setup that was killed",
            hint=f"wait until it has ended, then run the same command again: ps -p {number}",
        )


def _list_running_engines(prefix: Path, processes: Path) -> Iterator[int]:
    for number, words in commands(processes):
        change = change_of(RunningProgram(number=number, words=words))
        if change is not None and change.tool in _ENGINES and prefix in map(Path, change.places):
            yield number
