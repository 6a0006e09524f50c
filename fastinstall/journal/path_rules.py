"""Refuse journals with a path that leads out of the environment, because anybody may have written a journal.

Undo moves and removes the files that a journal names, and the environment with the journal may be somebody else's. So
no path in the journal may be absolute or contain ".." (`refuse_escapes`, which checks the text), and none may pass
through a symbolic link that leads outside (`refuse_ways_out`, which checks the disk).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.journal.conda_meta import HISTORY
from fastinstall.journal.entries import (
    Adding,
    Conceding,
    Entry,
    ExternalChangeBegun,
    ExternalChangeEnded,
    Moving,
    MovingTree,
    TransactionBegun,
)
from fastinstall.journal.layout import KEPT, ROOT, TRANSACTIONS
from fastinstall.journal.remembered_directories import directories_below

_CACHE = "__pycache__"

Named = tuple[str, str]
"""A key of a journal entry, such as "moves[0].live", and its value, which is a path."""


def refuse_escapes(entries: Sequence[Entry], file: PurePath) -> None:
    """Raise if a path of a journal is not inside the environment, judged by its text.

    Args:
        entries: the entries of the journal.
        file: path of the journal. The journal's directory must be named after the transaction; if the journal is loose,
            its own name must contain the transaction's identifier.

    Raises:
        DocumentError: a path leads outside; the message names the file, the line and the key.
    """
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, TransactionBegun):
            _refuse_other_place(entry, file)
        for key, path in list_entry_paths(entry):
            if _is_outside(path):
                raise DocumentError(f"{file}:{number}", key, f"{path!r} leads outside the environment")
        for key, path in list_entry_paths(entry, _WORKPLACE_PATHS):
            if _is_outside(path) or path.partition("/")[0] not in ("stage", "aside") or not path.partition("/")[2]:
                raise DocumentError(f"{file}:{number}", key, f"{path!r} is not inside a transaction")


def refuse_ways_out(prefix: Path, entries: Sequence[Entry]) -> None:
    """Raise if an undo would touch a path that leads out of the environment through a symbolic link.

    Raises:
        RefusedError: a path leads outside; the message names the directory and its real path. Nothing has been touched.
    """
    refuse_outside(prefix, _list_touched_directories(prefix, entries))


def refuse_outside(prefix: Path, directories: Iterable[str]) -> None:
    """Raise if a directory, relative to the prefix, leads out of the environment through a symbolic link.

    Raises:
        RefusedError: a directory leads outside; the message gives its path and its real path. Nothing has been touched.
    """
    home = os.path.realpath(prefix)
    for directory in dict.fromkeys(directories):
        where = os.path.realpath(prefix / directory)
        if where != home and not where.startswith(f"{home}{os.sep}"):
            raise RefusedError(
                f"{prefix / directory}: leads outside the environment, to {where}; nothing is changed there",
                hint=f"find out who made that link: ls -ld {quote(prefix / directory)}",
            )


_PATHS: dict[type, tuple[str, ...]] = {
    TransactionBegun: ("directories.path", "created", "work"),
    Moving: ("directories.path", "created", "moves.live", "manifest"),
    ExternalChangeBegun: ("directories.path", "created", "copies.path", "appearing", "own_places", "records"),
    ExternalChangeEnded: ("manifest", "untouched", "removed"),
    MovingTree: ("source", "target", "directories.path"),
    Adding: ("directories.path", "path", "draft"),
    Conceding: ("paths", "dropped"),
}
"""Fields with paths relative to the prefix; "a.b" is field `b` of each value in the list `a`."""

_WORKPLACE_PATHS: dict[type, tuple[str, ...]] = {
    Moving: ("moves.kept",),
    ExternalChangeBegun: ("area",),
    Conceding: ("areas",),
}
"""Fields with paths relative to the transaction's `work` directory, in the notation of `_PATHS`."""


def list_entry_paths(entry: Entry, places: Mapping[type, tuple[str, ...]] = _PATHS) -> Iterator[Named]:
    """Yield the key and value of each path in an entry.

    Args:
        entry: the entry of a journal.
        places: the fields with paths, by class of entry; by default, the fields with paths relative to the prefix.
    """
    for place in places.get(type(entry), ()):
        name, _, inner = place.partition(".")
        value = getattr(entry, name)
        if isinstance(value, str):
            yield name, value
            continue
        for index, each in enumerate(value):
            yield (f"{name}[{index}].{inner}", getattr(each, inner)) if inner else (f"{name}[{index}]", each)


def _refuse_other_place(begun: TransactionBegun, file: PurePath) -> None:
    identifier = begun.id
    if identifier not in (file.parent.name, file.name.removeprefix(".fastinstall-").removesuffix(".jsonl")):
        raise DocumentError(f"{file}:1", "id", f"{identifier!r} does not belong to this transaction")
    own, beside = f"{TRANSACTIONS}/{identifier}", f".fastinstall-{identifier}"
    if begun.work != own and PurePath(begun.work).name != beside:
        raise DocumentError(f"{file}:1", "work", f"{begun.work!r} is not a work directory of {identifier}")


def _is_outside(path: str) -> bool:
    return not path or path.startswith("/") or "\0" in path or ".." in path.split("/")


def _list_touched_directories(prefix: Path, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the directories in which an undo may change entries, or whose modification times it may set."""
    begun = next((entry for entry in entries if isinstance(entry, TransactionBegun)), None)
    if begun is None:
        return
    yield from (ROOT, KEPT, f"{TRANSACTIONS}/{begun.id}", f"{begun.work}/stage", f"{begun.work}/aside")
    for entry in entries:
        for key, path in list_entry_paths(entry):
            if isinstance(entry, Moving) and key.startswith("manifest"):
                continue  # undo only reads these files; their directory may be a link that the move replaced
            whole = key.startswith(("directories", "created", "removed")) and not isinstance(entry, MovingTree)
            yield path if whole or path == HISTORY or isinstance(entry, Adding) else _get_parent(path)
            if path.endswith(".py"):
                yield f"{_get_parent(path)}/{_CACHE}"
        for _, path in list_entry_paths(entry, _WORKPLACE_PATHS):
            yield _get_parent(f"{begun.work}/{path}")
        if isinstance(entry, MovingTree):
            yield from (f"{top}/{each.path}" for top in (entry.source, entry.target) for each in entry.directories)
        if isinstance(entry, ExternalChangeBegun):
            for pattern in entry.own_places:
                yield from (_get_parent(found.relative_to(prefix).as_posix()) for found in prefix.glob(pattern))
            yield from directories_below(prefix, entry.own_places)


def _get_parent(path: str) -> str:
    return path.rpartition("/")[0] or "."
