"""Directories as they were: their entries' names and their modification times, to be given back."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from fastinstall.journal.entries import Directory


def remember(prefix: Path, paths: Iterable[str]) -> tuple[Directory, ...]:
    """Look at directories below `prefix`; those that are not there are left out."""
    return tuple(
        Directory(path=path, mtime_ns=(prefix / path).stat().st_mtime_ns, names=_names(prefix / path))
        for path in dict.fromkeys(paths)
        if (prefix / path).is_dir()
    )


def restore(prefix: Path, directories: Iterable[Directory]) -> None:
    """Give directories their modification time back where they hold the same names as then.

    Where somebody else has added or removed an entry since, the time stays: Python's importers
    trust it to notice what is there (importlib's FileFinder caches a listing by its mtime).
    """
    for directory in directories:
        path = prefix / directory.path
        if path.is_dir() and _names(path) == directory.names:
            os.utime(path, ns=(path.stat().st_atime_ns, directory.mtime_ns))


def _names(directory: Path) -> str:
    names = sorted(os.fsencode(path.name) for path in directory.iterdir())
    return hashlib.sha256(b"\0".join(names)).hexdigest()[:16]
