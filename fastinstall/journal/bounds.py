"""A journal is undone inside its environment alone, whoever wrote it.

What undoing moves and removes, it takes from the journal, and a journal lies in an environment that somebody else may
have made. So no path of it is absolute or goes up (`refuse_escapes`, from the text alone), and none goes through a
symbolic link that leads out (`refuse_ways_out`, from the disk).
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.errors import DocumentError, RefusedError
from fastinstall.journal.directories import directories_below
from fastinstall.journal.entries import Adding, Begun, Entry, Moving, Spreading, Yielding
from fastinstall.journal.layout import KEPT, ROOT, TRANSACTIONS
from fastinstall.journal.log import Log
from fastinstall.journal.revisions import HISTORY
from fastinstall.journal.stretch import Engaged, Engaging
from fastinstall.rules.messages import quote

_CACHE = "__pycache__"
Named = tuple[str, str]
"""The key of an entry, and a path that stands there."""


def refuse_escapes(log: Log, file: PurePath) -> None:
    """Raise where a path of a journal is not one inside the environment.

    Args:
        log: the journal.
        file: where it was read: in the directory of its transaction, or beside it under the name of that.

    Raises:
        DocumentError: names file, line and key.
    """
    begun = log.begun
    if begun is not None:
        _refuse_other_place(begun, file)
    for number, entry in enumerate(log.entries, start=1):
        for key, path in named_paths(entry):
            if _goes_out(path):
                raise _malformed(file, number, key, f"{path!r} leads out of the environment")
        for key, path in _workplaces(entry):
            if _goes_out(path) or path.partition("/")[0] not in ("stage", "aside") or not path.partition("/")[2]:
                raise _malformed(file, number, key, f"{path!r} is no place of a transaction")


def refuse_ways_out(prefix: Path, log: Log) -> None:
    """Raise where something that undoing a journal would touch lies behind a symbolic link out of the environment.

    Raises:
        RefusedError: names the directory and where it leads; nothing has been touched.
    """
    refuse_outside(prefix, _touched(prefix, log))


def refuse_outside(prefix: Path, directories: Iterable[str]) -> None:
    """Raise where a directory, relative to the prefix, lies behind a symbolic link out of the environment.

    Raises:
        RefusedError: names the directory and where it leads; nothing has been touched.
    """
    home = os.path.realpath(prefix)
    for directory in dict.fromkeys(directories):
        where = os.path.realpath(prefix / directory)
        if where != home and not where.startswith(f"{home}{os.sep}"):
            raise RefusedError(
                f"{prefix / directory}: leads out of the environment, to {where}, and nothing is changed there",
                hint=f"see who made that link: ls -ld {quote(prefix / directory)}",
            )


def named_paths(entry: Entry) -> Iterator[Named]:
    """Every path of an entry that is relative to the prefix, with its key."""
    directories = getattr(entry, "directories", ())
    if isinstance(entry, Begun | Moving | Engaging | Adding):
        yield from ((f"directories[{index}].path", each.path) for index, each in enumerate(directories))
    if isinstance(entry, Begun | Moving | Engaging):
        yield from _listed("created", entry.created)
    match entry:
        case Begun():
            yield "work", entry.work
        case Moving():
            yield from ((f"moves[{index}].live", move.live) for index, move in enumerate(entry.moves))
            yield from _listed("manifest", tuple(entry.manifest))
        case Engaging():
            yield from ((f"copies[{index}].path", copied.path) for index, copied in enumerate(entry.copies))
            yield from _listed("appearing", entry.appearing)
            yield from _listed("grounds", entry.grounds)
            yield from _listed("records", entry.records)
        case Engaged():
            yield from _listed("manifest", tuple(entry.manifest))
            yield from _listed("untouched", entry.untouched)
            yield from _listed("removed", entry.removed)
        case Spreading():
            yield from (("source", entry.source), ("target", entry.target))
            yield from ((f"directories[{index}].path", each.path) for index, each in enumerate(directories))
        case Adding():
            yield from (("path", entry.path), ("draft", entry.draft))
        case Yielding():
            yield from _listed("paths", entry.paths)
            yield from _listed("dropped", entry.dropped)


def _workplaces(entry: Entry) -> Iterator[Named]:
    """Every path of an entry that is relative to the transaction's workplace."""
    if isinstance(entry, Moving):
        yield from ((f"moves[{index}].kept", move.kept) for index, move in enumerate(entry.moves))
    if isinstance(entry, Engaging):
        yield "area", entry.area
    if isinstance(entry, Yielding):
        yield from _listed("areas", entry.areas)


def _refuse_other_place(begun: Begun, file: PurePath) -> None:
    identifier = begun.id
    if identifier not in (file.parent.name, file.name.removeprefix(".fastinstall-").removesuffix(".jsonl")):
        raise _malformed(file, 1, "id", f"{identifier!r} is not the transaction that it lies with")
    own, beside = f"{TRANSACTIONS}/{identifier}", f".fastinstall-{identifier}"
    if begun.work != own and PurePath(begun.work).name != beside:
        raise _malformed(file, 1, "work", f"{begun.work!r} is no workplace of {identifier}")


def _listed(key: str, paths: tuple[str, ...]) -> Iterator[Named]:
    return ((f"{key}[{index}]", path) for index, path in enumerate(paths))


def _goes_out(path: str) -> bool:
    return not path or path.startswith("/") or "\0" in path or ".." in path.split("/")


def _malformed(file: PurePath, number: int, key: str, problem: str) -> DocumentError:
    return DocumentError(f"{file}:{number}", key, problem)


def _touched(prefix: Path, log: Log) -> Iterator[str]:
    """The directories whose entries or times undoing may change."""
    begun = log.begun
    if begun is None:
        return
    yield from (ROOT, KEPT, f"{TRANSACTIONS}/{begun.id}", f"{begun.work}/stage", f"{begun.work}/aside")
    for entry in log.entries:
        keys = {key.partition("[")[0]: None for key, _ in named_paths(entry)}
        for key, path in named_paths(entry):
            if isinstance(entry, Moving) and key.startswith("manifest"):
                continue  # moved as a whole and read at most; where it goes, a link to elsewhere may have stood before
            whole = key.startswith(("directories", "created", "removed")) and not isinstance(entry, Spreading)
            yield path if whole or path == HISTORY or isinstance(entry, Adding) else _parent(path)
            if path.endswith(".py"):
                yield f"{_parent(path)}/{_CACHE}"
        for _, path in _workplaces(entry):
            yield _parent(f"{begun.work}/{path}")
        if isinstance(entry, Spreading):
            yield from (f"{top}/{each.path}" for top in (entry.source, entry.target) for each in entry.directories)
        if "grounds" in keys and isinstance(entry, Engaging):
            yield from (path for ground in entry.grounds for path in _below(prefix, ground))


def _below(prefix: Path, ground: str) -> Iterator[str]:
    yield from (_parent(found.relative_to(prefix).as_posix()) for found in prefix.glob(ground))
    yield from directories_below(prefix, ground)


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "."
