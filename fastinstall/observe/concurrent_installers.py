"""Notice other programs that change an environment, by /proc.

/proc shows the processes of this machine that the kernel lets us see: none in other containers or on other machines
with the same filesystem, and only the command line of other users' processes.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import chain, takewhile
from pathlib import Path, PurePath

from fastinstall.core.package_managers import Change, ConcurrentInstaller, RunningProgram, change_of, could_change
from fastinstall.core.process_table import PROCESSES, ancestors_of, commands, words_of

_MARKS = ("pyvenv.cfg", "conda-meta")
"""Files that make a directory an environment."""


def observe_concurrent_installers(prefix: Path, processes: Path = PROCESSES) -> tuple[ConcurrentInstaller, ...]:
    """List programs that are changing packages of an environment: pip, uv, conda and the like.

    Never this process, its ancestors or its children.

    Args:
        processes: where the kernel lists them.
    """
    found = []
    for number, words in commands(processes):
        change = change_of(_read_program(number, words, processes)) if could_change(words) else None
        if change is not None and _is_about_prefix(change, prefix) and not _is_kin(number, processes):
            found.append(ConcurrentInstaller(process=number, tool=change.tool, action=change.action))
    return tuple(sorted(found, key=lambda each: each.process))


def _is_kin(number: int, processes: Path) -> bool:
    own = os.getpid()
    return number == own or own in ancestors_of(number, processes) or number in ancestors_of(own, processes)


def _read_program(number: int, words: tuple[str, ...], processes: Path) -> RunningProgram:
    place = processes / str(number)
    pairs = (entry.partition("=") for entry in words_of(f"{place}/environ"))
    variables = {name: value for name, found, value in pairs if found}
    directory, interpreter = PurePath("/"), PurePath(words[0])
    with suppress(OSError):  # not readable for us
        directory = (place / "cwd").readlink()
    with suppress(OSError):
        interpreter = _find_program(place, words[0], variables)
    return RunningProgram(number=number, words=words, variables=variables, directory=directory, interpreter=interpreter)


def _find_program(place: Path, name: str, variables: Mapping[str, str]) -> Path:
    """Return a process's program, by the name that started it if possible: a virtual environment's is a link.

    Raises:
        OSError: the process has ended, or is not readable for us.
    """
    running = Path(str((place / "exe").readlink()).removesuffix(" (deleted)"))
    directories = [""] if "/" in name else variables.get("PATH", "").split(":")
    for directory in directories:  # where a shell would have found the program
        with suppress(OSError):
            path = (place / "cwd").readlink() / directory / name
            if path.samefile(place / "exe"):
                return path
    return running


def _is_about_prefix(change: Change, prefix: Path) -> bool:
    forms = tuple(dict.fromkeys((Path(os.path.abspath(prefix)), Path(os.path.realpath(prefix)))))  # noqa: PTH100 (text)
    if any(fnmatchcase(form.name, name) for form in forms for name in change.names) and _has(prefix, change.mark):
        return True
    return any(
        _is_in_prefix(path, form) for form in forms for place in change.places for path in _list_path_forms(place)
    )


def _list_path_forms(place: PurePath) -> tuple[Path, ...]:
    """Return a path as named and with its directories resolved; the path itself may be a link, as `bin/python`."""
    named = Path(os.path.normpath(place))
    resolved = Path(os.path.realpath(named))
    beside = Path(os.path.realpath(named.parent), named.name)
    return tuple(dict.fromkeys((named, beside, resolved if os.path.isdir(resolved) else beside)))  # noqa: PTH112 (likewise)


def _is_in_prefix(path: Path, prefix: Path) -> bool:
    """Return whether a path is the environment or inside it, but not inside a nested environment."""
    if path != prefix and prefix not in path.parents:
        return False
    inside = takewhile(lambda directory: directory != prefix, chain((path,), path.parents))
    return not any(_has(directory, mark) for directory in inside for mark in _MARKS)


def _has(directory: Path, name: str) -> bool:
    return os.path.exists(directory / name)  # noqa: PTH110 (no error if it is not readable for us)
