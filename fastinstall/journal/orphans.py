"""Engines that go on although the process that had called them is dead: nothing may be undone under their hands."""

import json
from collections.abc import Iterator
from pathlib import Path

from fastinstall.errors import RefusedError

_WORKER = b"_rattler_worker.py"
_VERBS = frozenset({b"install", b"remove"})
"""What an engine asks of conda; `conda fastinstall rollback` is no such process."""


def refuse_while_engaged(prefix: Path, processes: Path = Path("/proc")) -> None:
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


def _engines(prefix: Path, processes: Path) -> Iterator[str]:
    for directory in processes.glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is not ours to look at
        if _is_engine(words, prefix):
            yield directory.name


def _is_engine(words: list[bytes], prefix: Path) -> bool:
    """Conda gets the prefix as a word of its own, the worker as a string in a JSON document."""
    names = [word.rpartition(b"/")[2] for word in words]
    if _WORKER in names:
        quoted = json.dumps(str(prefix)).encode()
        return any(quoted in word for word in words)
    return bytes(prefix) in words and b"conda" in names and not _VERBS.isdisjoint(words)
