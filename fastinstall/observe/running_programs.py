"""Find programs in /proc: those that use files of a replaced Pillow, and those that are changing an environment.

A program that imported the replaced Pillow keeps that Pillow's modules and libraries in memory, and needs a restart. If
it imports further modules, they come from the installed Pillow, and may not work with those in memory. The kernel lists
the files that a process has mapped by their current paths, which show that a file was moved aside or deleted
(proc_pid_maps(5)).

/proc does not show everything. Processes in other containers, or on other machines with the same filesystem, are not
visible. Of other users' processes, only the command lines are visible.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fastinstall.core.package_managers import CONDA, ConcurrentInstaller, names_prefix, recognise_command
from fastinstall.core.process_table import PROCESSES, ancestors_of, commands, words_of
from fastinstall.journal.layout import ROOT
from fastinstall.model.results import OutdatedProgram

_SECONDS = 1.0
_GONE = b" (deleted)"


def find_outdated_programs(
    prefix: Path, processes: Path = PROCESSES, seconds: float = _SECONDS
) -> tuple[OutdatedProgram, ...]:
    """Return the programs, of those that this user may see, that have mapped files of an environment's replaced Pillow.

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
    """Return whether a line of /proc/PID/maps shows a file of Pillow that is deleted or was moved aside."""
    start = line.find(within)
    path = line[start + len(within) :] if start >= 0 else b""
    is_pillow = b"/PIL/" in path or b"illow.libs/" in path or b"illow_simd.libs/" in path
    return is_pillow and (path.startswith(os.fsencode(ROOT) + b"/") or path.endswith(_GONE))


_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")


def observe_concurrent_installers(prefix: Path, processes: Path = PROCESSES) -> tuple[ConcurrentInstaller, ...]:
    """List programs that are changing packages of an environment: pip, uv, conda and similar programs.

    This process, its ancestors and its descendants are left out. A command is found only if its command line or its
    active environment names the environment. `uv sync`, which changes a project's `.venv`, may not be found; in that
    case, a setup notices the changed files.

    Args:
        prefix: the environment.
        processes: the directory in which the kernel lists processes: /proc.
    """
    real = Path(os.path.realpath(prefix))
    installers = []
    for number, words in commands(processes):
        command = recognise_command(words)
        if command is None or _is_kin(number, processes):
            continue
        is_named = command.tool in CONDA and prefix.name in words and (prefix / "conda-meta").is_dir()
        is_written = names_prefix(words, prefix) or names_prefix(words, real)
        if is_named or is_written or real in map(_find_environment, _list_places(number, words, processes)):
            installers.append(ConcurrentInstaller(process=number, tool=command.tool, action=command.action))
    return tuple(sorted(installers, key=lambda each: each.process))


def _is_kin(number: int, processes: Path) -> bool:
    own = os.getpid()
    return number == own or own in ancestors_of(number, processes) or number in ancestors_of(own, processes)


def _list_places(number: int, words: Sequence[str], processes: Path) -> Iterator[Path]:
    """Yield the paths in a process's command line, and its active environments.

    Relative paths are resolved in the working directory of that process.
    """
    process = processes / str(number)
    variables = dict(entry.partition("=")[::2] for entry in words_of(f"{process}/environ"))
    directory = Path("/")
    with suppress(OSError):  # this user may not read the link
        directory = (process / "cwd").readlink()
    named = [word.rpartition("=")[2] for word in words if "/" in word]
    active = [variables[name] for name in _ACTIVE if variables.get(name)]
    for place in (*named, *active):
        yield Path(os.path.normpath(directory / place))


def _find_environment(place: Path) -> Path | None:
    """Return the innermost environment that contains a path, as a path without links; None if there is none."""
    for directory in (place, *place.parents):
        if any(os.path.exists(directory / mark) for mark in ("pyvenv.cfg", "conda-meta")):  # noqa: PTH110 (Path.exists raises where a directory is not readable)
            return Path(os.path.realpath(directory))
    return None
