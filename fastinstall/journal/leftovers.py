"""Find the leftovers of interrupted and ended transactions, and remove stray directories.

A loose journal shows that directories of its transaction were being made or removed; see `transaction_directories`.

A stray is the directory of an ended transaction that a Python process made again. When Python writes bytecode, it makes
the missing parent directories. A transaction's directory is a stray if it has no journal and no files but bytecode, so
that nothing is lost when it is removed.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import DocumentError
from fastinstall.journal.events import read_journal_events
from fastinstall.journal.layout import JOURNAL, LOOSE, ROOT, SHARE, TRANSACTIONS, list_transaction_directories
from fastinstall.journal.remembered_directories import remove_empty
from fastinstall.model.history import Interruption, UnfinishedRun

_BYTECODE = re.compile(r"\.pyc(\.\d+)?$")
"""Matches the names of bytecode files, also temporary ones; see `importlib._bootstrap_external._write_atomic`."""


def find_leftovers(prefix: Path) -> Iterator[Interruption]:
    """Yield an interruption for each loose journal and each stray."""
    for file in find_loose_journals(prefix):
        events = []
        with suppress(DocumentError):
            events = read_journal_events(file)
        is_ended = not {"committed", "undoing"}.isdisjoint(event["event"] for event in events)
        kind = UnfinishedRun.CLEANUP if is_ended else UnfinishedRun.PREPARATION
        verb, at = (str(events[0].get(key, "")) if events else "" for key in ("verb", "at"))
        yield Interruption(kind=kind, verb=verb, at=at, file=file, id=_get_identifier(file))
    for directory in _list_strays(prefix):
        begun = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-", directory.name)
        at = "{}-{}-{}T{}:{}:{}Z".format(*begun.groups()) if begun else ""
        yield Interruption(kind=UnfinishedRun.CLEANUP, verb="", at=at, file=directory, id=directory.name)


def find_loose_journals(prefix: Path) -> Iterator[Path]:
    """Yield the loose journals in an environment."""
    for path in (".", SHARE, ROOT):
        directory = prefix / path
        if directory.is_dir():
            yield from (path for path in directory.iterdir() if re.fullmatch(LOOSE, path.name))


def is_stray(directory: Path) -> bool:
    """Return whether the directory of a transaction has no journal and nothing but directories and bytecode."""
    if directory.is_symlink() or os.path.lexists(directory / JOURNAL):
        return False
    for place, names, others in os.walk(directory):
        links = any((Path(place) / name).is_symlink() for name in (*names, *others))
        if links or not all(map(_BYTECODE.search, others)):
            return False
    return True


def remove_strays(prefix: Path) -> None:
    """Remove strays and parent directories that become empty. The caller holds the environment's lock.

    If site-packages is not on the filesystem of the prefix, transactions keep `stage` and `aside` in site-packages. So
    strays are removed there too.

    Raises:
        OSError: a stray could not be removed.
    """
    strays = _list_strays(prefix)
    for path in strays:
        files.discard(path)
    for path in tuple(prefix.glob("lib*/python*/site-packages/.fastinstall-*")):
        match = re.fullmatch(LOOSE.removesuffix(r"\.jsonl"), path.name)
        if match and path.is_dir() and not (prefix / TRANSACTIONS / match[1]).exists() and is_stray(path):
            files.discard(path)
    if strays:
        remove_empty(prefix, (SHARE, ROOT, TRANSACTIONS))


def _list_strays(prefix: Path) -> list[Path]:
    """List the strays of an environment, except directories that a transaction is making or removing."""
    strays = list(filter(is_stray, list_transaction_directories(prefix)))
    loose = set(map(_get_identifier, find_loose_journals(prefix))) if strays else set()
    return [path for path in strays if path.name not in loose]


def _get_identifier(loose: Path) -> str:
    return loose.name.removeprefix(".fastinstall-").removesuffix(".jsonl")
