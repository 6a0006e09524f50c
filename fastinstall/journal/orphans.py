"""Engines that go on although the process that had called them is dead: nothing may be undone under their hands."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.errors import RefusedError
from fastinstall.model.rivals import Program
from fastinstall.rules.rivals import CONDA, RATTLER, change_of
from fastinstall.system.processes import PROCESSES, commands

_ENGINES = (*CONDA, RATTLER)
"""What a setup calls; each gets the environment as a path."""


def refuse_while_engaged(prefix: Path, processes: Path = PROCESSES) -> None:
    """Refuse where a process still changes an environment.

    Args:
        prefix: of the environment.
        processes: where the kernel lists them; see proc_pid_cmdline(5).

    Raises:
        RefusedError: one does; named by its number.
    """
    for number in _engines(prefix, processes):
        raise RefusedError(
            f"{prefix}: process {number} still changes packages there, for a setup that was killed",
            hint=f"wait until it has ended, then run the same command again: ps -p {number}",
        )


def _engines(prefix: Path, processes: Path) -> Iterator[int]:
    for number, words in commands(processes):
        change = change_of(Program(number=number, words=words))
        if change is not None and change.tool in _ENGINES and prefix in map(Path, change.places):
            yield number
