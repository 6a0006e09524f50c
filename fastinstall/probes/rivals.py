"""Other programs that change packages in an environment at this moment, by what /proc shows of them.

Seen are the processes of this machine that the kernel shows us: none on another machine that shares the filesystem,
none in another container, and of other users' only what stands on the command line.
"""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePath

from fastinstall.errors import UndeterminedError
from fastinstall.model.rivals import Change, Program, Rival
from fastinstall.probes.process import executable_of
from fastinstall.rules.rivals import change_of, could_change
from fastinstall.system.processes import PROCESSES, commands, has_children, parents, words_of

_MARKS = ("pyvenv.cfg", "conda-meta")
"""What an environment of its own has."""


def observe_rivals(prefix: Path, processes: Path = PROCESSES) -> tuple[Rival, ...]:
    """Programs that change packages of an environment: pip, uv, conda and their like.

    Never ourselves, what has started us, or what we have started.

    Args:
        prefix: of the environment.
        processes: where the kernel lists them.
    """
    found = (_rival(number, words, prefix, processes) for number, words in commands(processes) if could_change(words))
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.process))


def _rival(number: int, words: tuple[str, ...], prefix: Path, processes: Path) -> Rival | None:
    change = change_of(_program(number, words, processes))
    if change is None or not _concerns(change, prefix):
        return None
    if change.until_child and has_children(number, processes):
        return None
    if _is_kin(number, processes):
        return None
    return Rival(process=number, tool=change.tool, action=change.action)


def _is_kin(number: int, processes: Path) -> bool:
    own = os.getpid()
    return number == own or own in parents(number, processes) or number in parents(own, processes)


def _program(number: int, words: tuple[str, ...], processes: Path) -> Program:
    place = processes / str(number)
    pairs = (entry.partition("=") for entry in words_of(f"{place}/environ"))
    variables = {name: value for name, found, value in pairs if found}
    return Program(
        number=number,
        words=words,
        variables=variables,
        directory=_directory(place),
        interpreter=_interpreter(place, words, variables),
    )


def _directory(place: Path) -> PurePath:
    try:
        return (place / "cwd").readlink()
    except OSError:  # not for us to see
        return PurePath("/")


def _interpreter(place: Path, words: tuple[str, ...], variables: dict[str, str]) -> PurePath:
    try:
        return executable_of(place, words, variables, Path("/"))
    except UndeterminedError:
        return PurePath(words[0])


def _concerns(change: Change, prefix: Path) -> bool:
    forms = tuple(dict.fromkeys((Path(os.path.abspath(prefix)), Path(os.path.realpath(prefix)))))  # noqa: PTH100 (text)
    if any(fnmatchcase(form.name, name) for form in forms for name in change.names) and _has(prefix, change.mark):
        return True
    if any(form.parent in _forms(holder) for form in forms for holder in change.holders):
        return True
    return any(_belongs(path, form) for form in forms for place in change.places for path in _forms(place))


def _forms(place: PurePath) -> tuple[Path, ...]:
    """A path as it is named, and with the directories on its way resolved; itself it may be a link, as `bin/python`."""
    named = Path(os.path.normpath(place))
    resolved = Path(os.path.realpath(named))
    beside = Path(os.path.realpath(named.parent), named.name)
    return tuple(dict.fromkeys((named, beside, resolved if os.path.isdir(resolved) else beside)))  # noqa: PTH112 (likewise)


def _belongs(path: Path, prefix: Path) -> bool:
    """Whether a path is the environment or lies in it, and not in another one that lies in there."""
    if path != prefix and prefix not in path.parents:
        return False
    return not any(_is_environment(directory) for directory in _between(path, prefix))


def _between(path: Path, prefix: Path) -> Iterator[Path]:
    for directory in chain((path,), path.parents):
        if directory == prefix:
            return
        yield directory


def _is_environment(directory: Path) -> bool:
    return any(_has(directory, mark) for mark in _MARKS)


def _has(directory: Path, name: str) -> bool:
    return os.path.exists(directory / name)  # noqa: PTH110 (no error where it is not for us to see)
