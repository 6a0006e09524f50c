"""Find other programs that change packages of an environment, by /proc.

/proc shows the processes of this machine that the kernel lets us see: none in other containers or on other machines
with the same filesystem, and only the command line of other users' processes.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fastinstall.core.package_managers import CONDA, ConcurrentInstaller, names_prefix, recognise_command
from fastinstall.core.process_table import PROCESSES, ancestors_of, commands, words_of

_VARIABLES = frozenset(
    {"VIRTUAL_ENV", "CONDA_PREFIX", "PIP_PYTHON", "PIP_TARGET", "PIP_PREFIX", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT"}
)
"""Variables that name an environment, or a place in one."""


def observe_concurrent_installers(prefix: Path, processes: Path = PROCESSES) -> tuple[ConcurrentInstaller, ...]:
    """List programs that are changing packages of an environment: pip, uv, conda and the like.

    Never this process, its ancestors or its children.

    Args:
        processes: where the kernel lists them.
    """
    forms = {Path(os.path.abspath(prefix)), Path(os.path.realpath(prefix))}  # noqa: PTH100 (text)
    installers = []
    for number, words in commands(processes):
        command = recognise_command(words)
        if command is None or _is_kin(number, processes):
            continue
        is_named = command.tool in CONDA and prefix.name in words and (prefix / "conda-meta").is_dir()
        environments = map(_find_environment, _list_places(number, words, command.tool, processes))
        if is_named or any(names_prefix(words, form) for form in forms) or not forms.isdisjoint(environments):
            installers.append(ConcurrentInstaller(process=number, tool=command.tool, action=command.action))
    return tuple(sorted(installers, key=lambda each: each.process))


def _is_kin(number: int, processes: Path) -> bool:
    own = os.getpid()
    return number == own or own in ancestors_of(number, processes) or number in ancestors_of(own, processes)


def _list_places(number: int, words: Sequence[str], tool: str, processes: Path) -> Iterator[str]:
    """Yield paths of environments that a command may mean, or in them, with and without their links resolved.

    What is relative starts in the directory of the process, not in ours.
    """
    process = processes / str(number)
    variables = dict(entry.partition("=")[::2] for entry in words_of(f"{process}/environ"))
    directory = Path("/")
    with suppress(OSError):  # not readable for us
        directory = (process / "cwd").readlink()
    places = [directory / word.rpartition("=")[2] for word in words if "/" in word]
    if tool == "uv":
        projects = () if "VIRTUAL_ENV" in variables else (directory, *directory.parents)
        places += [project / ".venv" for project in (*places, *projects)]
    places += [directory / value for name, value in variables.items() if name in _VARIABLES and value]
    if "/" not in words[0] and (path := variables.get("PATH")):
        searched = os.pathsep.join(str(directory / entry) for entry in path.split(os.pathsep))
        places += [Path(program)] if (program := shutil.which(words[0], path=searched)) else []
    for place in places:
        yield os.path.normpath(place)
        yield os.path.join(os.path.realpath(place.parent), place.name)  # noqa: PTH118 (bin/python is a link)
        yield os.path.realpath(place)


def _find_environment(path: str) -> Path | None:
    """Return the innermost environment that a path is in, or None outside of any."""
    for directory in (Path(path), *Path(path).parents):
        if any(os.path.exists(directory / mark) for mark in ("pyvenv.cfg", "conda-meta")):  # noqa: PTH110 (Path.exists raises where a directory is not readable)
            return directory
    return None
