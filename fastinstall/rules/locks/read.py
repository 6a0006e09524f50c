"""Reads the formats that name no other files: each by its module. Pure."""

from collections.abc import Callable
from functools import partial
from pathlib import PurePath

from fastinstall.model.locks import LockEntry, LockKind
from fastinstall.rules.locks.requirements import Requirements

_Reader = Callable[[str, PurePath], tuple[LockEntry, ...]]


def read_lock(kind: LockKind, text: str, file: PurePath) -> Requirements:
    """Read a file of a kind; what it includes is for the caller to read.

    Raises:
        DocumentError: it is malformed; the place is named.
    """
    if kind is LockKind.REQUIREMENTS:
        from fastinstall.rules.locks.requirements import read_requirements  # noqa: PLC0415 (only what is needed)

        return read_requirements(text)
    if kind is LockKind.ENVIRONMENT:
        from fastinstall.rules.locks.environment_yml import read_environment  # noqa: PLC0415 (likewise)

        return read_environment(text, file)
    return Requirements(entries=_reader(kind)(text, file))


def _reader(kind: LockKind) -> _Reader:
    if kind is LockKind.PIPFILE:
        from fastinstall.rules.locks.pipfile import read_pipfile  # noqa: PLC0415 (likewise)

        return read_pipfile
    if kind in (LockKind.PIXI, LockKind.CONDA_LOCK, LockKind.EXPLICIT):
        from fastinstall.rules.locks import conda_locks  # noqa: PLC0415 (likewise)

        readers: dict[LockKind, _Reader] = {
            LockKind.PIXI: conda_locks.read_pixi,
            LockKind.CONDA_LOCK: conda_locks.read_conda_lock,
            LockKind.EXPLICIT: conda_locks.read_explicit,
        }
        return readers[kind]
    from fastinstall.rules.locks.tables import read_tables  # noqa: PLC0415 (likewise)

    return partial(read_tables, kind)
