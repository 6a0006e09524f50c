"""Undo what a transaction did, act by act, and find what stands in the way of that."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.values import immutable
from fastinstall.journal import external_undo, moves, remembered_directories
from fastinstall.journal.additions import withdraw
from fastinstall.journal.entries import Adding, Conceding, ExternalChangeBegun
from fastinstall.journal.external_undo import LocatedExternalChange
from fastinstall.journal.fingerprints import KnownFiles
from fastinstall.journal.log import Act, Log
from fastinstall.journal.mover import Mover
from fastinstall.journal.store import JournalStore


@immutable
class Batch:
    """Moves that were announced together.

    Attributes:
        items: each, with its ends.
        created: parents that were made for them, outermost first.
    """

    items: tuple[moves.LocatedMove, ...]
    created: tuple[str, ...]


Placed = Batch | LocatedExternalChange | Adding
"""An act, and where its ends lie."""


def locate_act(log: Log, act: Act, prefix: Path, work: Path) -> Placed:
    """Locate an act as its journal tells it.

    Args:
        log: the journal that holds the announcement.
        act: one of its announcements.
        prefix: of the environment, which may have moved since.
        work: the directory with the transaction's stage and aside.
    """
    match act:
        case ExternalChangeBegun():
            return LocatedExternalChange(begun=act, ended=log.outcome(act), prefix=prefix, work=work)
        case Adding():
            return act
        case _:
            return Batch(items=moves.batch(log, act, prefix, work), created=act.created)


def find_files_in_the_way(act: Placed, known: KnownFiles) -> Iterator[str]:
    """Yield foreign content, relative to the prefix, that undoing the act would have to put away."""
    match act:
        case LocatedExternalChange():
            yield from external_undo.foreign(act, known)
        case Batch():
            yield from (item.move.live for item in act.items if moves.is_blocking(item, known))


def probe_renames(acts: Sequence[Placed], left: Conceding | None = None) -> None:
    """Look at every rename that undoing will do, before the first: a copy of an environment may be arranged otherwise.

    Raises:
        OSError: what the kernel would say to one of them; nothing has changed.
    """
    for act in acts:
        for item in act.items if isinstance(act, Batch) else ():
            if left is None or item.move.live not in left.paths:
                for source, target in moves.list_undo_renames(item):
                    _probe_rename(source, target)


def _probe_rename(source: Path, target: Path) -> None:
    place = next(parent for parent in target.parents if os.path.lexists(parent))
    if not place.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if place.stat().st_dev != source.parent.stat().st_dev and not source.is_dir():
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source), None, str(target))
    for directory in (place, source.parent):
        if not os.access(directory, os.W_OK | os.X_OK):
            number = errno.EROFS if os.statvfs(directory).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(number, os.strerror(number), str(directory))


def take_back(act: Placed, store: JournalStore, mover: Mover, left: Conceding | None = None) -> None:
    """Undo an act; nothing to do where that has happened already.

    Args:
        act: with its place on the disk, as `locate_act` returns it.
        store: of the environment that the act changed.
        mover: does the renames, and notes those that it cannot do at once.
        left: to another program, where something is.

    Raises:
        OSError: as the kernel says; nothing of before has been overwritten.
    """
    match act:
        case LocatedExternalChange():
            external_undo.undo_external_change(act, mover)
        case Adding():
            withdraw(store, (act,))
        case Batch():
            for item in reversed(act.items):
                if left is None:
                    moves.undo_move(item, mover)
                elif item.move.live not in left.paths:
                    moves.undo_move(moves.make_plain_arrival(item) if item.move.live in left.dropped else item, mover)
            remembered_directories.remove_empty(store.prefix, act.created)
            for directory in dict.fromkeys(
                (
                    *moves.directories_of(act.items),
                    *remembered_directories.list_changed_directories(store.prefix, act.created),
                )
            ):
                files.sync_directory(directory)


def find_lost_by_acts(acts: Sequence[Placed]) -> Iterator[str]:
    """Yield what can come back from nowhere, unless it came by these very acts and has gone with them."""
    brought: set[str] = set()
    for act in acts:
        match act:
            case LocatedExternalChange():
                lost = external_undo.find_unrestorable(act)
                came = (*(act.ended.manifest if act.ended is not None else ()), *act.begun.appearing)
            case Batch():
                lost = (item.move.live for item in act.items if moves.is_lost(item))
                came = tuple(path for item in act.items for path in item.brought.digests)
            case _:
                continue
        yield from (path for path in lost if path not in brought)
        for path in came:
            brought.update((path, *parents_of(path)))


def parents_of(path: str) -> set[str]:
    """Return the directories on the way to a path."""
    return {parent.as_posix() for parent in PurePath(path).parents}
