"""Remove strays: directories of ended transactions that a Python process created again by writing bytecode.

When Python writes bytecode, it makes the missing parent directories. A transaction's directory is a stray if it has no
journal and no files but bytecode, so that nothing is lost when it is removed.
"""

import os
import re
from pathlib import Path

from fastinstall.core import files
from fastinstall.journal.layout import JOURNAL, LOOSE, ROOT, SHARE, TRANSACTIONS
from fastinstall.journal.remembered_directories import remove_empty

_BYTECODE = re.compile(r"\.pyc(\.\d+)?$")
"""Matches the names of bytecode files, also temporary ones; see `importlib._bootstrap_external._write_atomic`."""
_BESIDE = LOOSE.removesuffix(r"\.jsonl")


def is_stray(directory: Path) -> bool:
    """Return whether the directory of a transaction has no journal and nothing but directories and bytecode."""
    if directory.is_symlink() or os.path.lexists(directory / JOURNAL):
        return False
    for place, names, others in os.walk(directory):
        links = any((Path(place) / name).is_symlink() for name in (*names, *others))
        if links or not all(map(_BYTECODE.search, others)):
            return False
    return True


def list_strays(prefix: Path) -> tuple[Path, ...]:
    """List the strays of an environment, except directories that a transaction is making or removing."""
    directory = prefix / TRANSACTIONS
    if not directory.is_dir():
        return ()
    found = sorted(path for path in directory.iterdir() if path.is_dir() and is_stray(path))
    loose = _list_loose_identifiers(prefix) if found else set()
    return tuple(path for path in found if path.name not in loose)


def remove_strays(prefix: Path) -> tuple[Path, ...]:
    """Remove strays and parent directories that become empty, and return the strays in fastinstall's directory.

    The caller holds the environment's lock.

    Raises:
        OSError: a stray could not be removed.
    """
    strays = list_strays(prefix)
    for path in (*strays, *_list_strays_beside_packages(prefix)):
        files.discard(path)
    if strays:
        remove_empty(prefix, (SHARE, ROOT, TRANSACTIONS))
    return strays


def _list_strays_beside_packages(prefix: Path) -> tuple[Path, ...]:
    """Return strays in site-packages.

    A transaction keeps `stage` and `aside` there if site-packages is on another filesystem than the prefix.
    """
    found = (
        (path, re.fullmatch(_BESIDE, path.name)) for path in prefix.glob("lib*/python*/site-packages/.fastinstall-*")
    )
    return tuple(
        path
        for path, match in found
        if match and path.is_dir() and not (prefix / TRANSACTIONS / match[1]).exists() and is_stray(path)
    )


def _list_loose_identifiers(prefix: Path) -> set[str]:
    places = (prefix / path for path in (".", SHARE, ROOT))
    names = (path.name for place in places if place.is_dir() for path in place.iterdir())
    return {match[1] for match in (re.fullmatch(LOOSE, name) for name in names) if match}
