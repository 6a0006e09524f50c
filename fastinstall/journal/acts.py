"""What a transaction did, act by act: what stands in the way of undoing one, and undoing it."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.journal import additions, directories, disengage, moves
from fastinstall.journal.disengage import Engagement
from fastinstall.journal.entries import Adding, Yielding
from fastinstall.journal.known import Known
from fastinstall.journal.log import Act, Log
from fastinstall.journal.relocate import Mover
from fastinstall.journal.store import Store
from fastinstall.journal.stretch import Engaging
from fastinstall.model.immutable import immutable
from fastinstall.system import files


@immutable
class Batch:
    """Moves that were announced together.

    Attributes:
        items: each, with its ends.
        created: parents that were made for them, outermost first.
    """

    items: tuple[moves.Placed, ...]
    created: tuple[str, ...]


Placed = Batch | Engagement | Adding
"""An act, and where its ends lie."""


def placed(log: Log, act: Act, prefix: Path, work: Path) -> Placed:
    """An act as its journal tells it.

    Args:
        log: the journal.
        act: one of its announcements.
        prefix: of the environment.
        work: of the transaction.
    """
    match act:
        case Engaging():
            return disengage.engagement(log, act, prefix, work)
        case Adding():
            return act
        case _:
            return Batch(items=moves.batch(log, act, prefix, work), created=act.created)


def in_the_way(act: Placed, known: Known) -> Iterator[str]:
    """Foreign content, relative to the prefix, that undoing the act would have to put away."""
    match act:
        case Engagement():
            yield from disengage.foreign(act, known)
        case Batch():
            yield from (item.move.live for item in act.items if moves.blocks(item, known))


def probe_renames(acts: Sequence[Placed], left: Yielding | None = None) -> None:
    """Look at every rename that undoing will do, before the first: a copy of an environment may be arranged otherwise.

    Raises:
        OSError: what the kernel would say to one of them; nothing has changed.
    """
    for act in acts:
        for item in act.items if isinstance(act, Batch) else ():
            if left is None or item.move.live not in left.paths:
                for source, target in moves.undoing(item):
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


def take_back(act: Placed, store: Store, mover: Mover, left: Yielding | None = None) -> None:
    """Undo an act; nothing to do where that has happened already.

    Args:
        act: which.
        store: of the environment.
        mover: of the transaction.
        left: to another program, where something is.

    Raises:
        OSError: as the kernel says; nothing of before has been overwritten.
    """
    match act:
        case Engagement():
            disengage.undo(act, mover)
        case Adding():
            additions.withdraw(store, (act,))
        case Batch():
            for item in reversed(act.items):
                if left is None:
                    moves.undo(item, mover)
                elif item.move.live not in left.paths:
                    moves.undo(moves.coming(item) if item.move.live in left.dropped else item, mover)
            directories.remove_empty(store.prefix, act.created)
            for directory in dict.fromkeys((*moves.parents(act.items), *directories.above(store.prefix, act.created))):
                files.sync_directory(directory)


def lost_by(acts: Sequence[Placed]) -> Iterator[str]:
    """What can come back from nowhere, unless it came by these very acts and has gone with them."""
    brought: set[str] = set()
    for act in acts:
        yield from (path for path in _lost(act) if path not in brought)
        for path in _brought(act):
            brought.update((path, *parents_of(path)))


def parents_of(path: str) -> set[str]:
    """The directories on the way to a path."""
    return {parent.as_posix() for parent in PurePath(path).parents}


def _lost(act: Placed) -> Iterator[str]:
    match act:
        case Engagement():
            yield from disengage.lost(act)
        case Batch():
            yield from (item.move.live for item in act.items if moves.is_lost(item))


def _brought(act: Placed) -> Iterator[str]:
    match act:
        case Engagement():
            yield from act.engaged.manifest if act.engaged is not None else ()
            yield from act.engaging.appearing
        case Batch():
            yield from (path for item in act.items for path in item.brought.digests)
