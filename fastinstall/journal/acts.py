"""Undo a transaction act by act, and find the foreign files that prevent it.

An undo can leave files that another program has replaced in place, with related entries (`find_conceded_entries`).
"""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.values import immutable
from fastinstall.journal import conda_records, external_changes, moves, remembered_directories
from fastinstall.journal.additions import withdraw
from fastinstall.journal.entries import Adding, Conceding, ExternalChangeBegun
from fastinstall.journal.external_changes import LocatedExternalChange
from fastinstall.journal.fingerprints import KnownFiles
from fastinstall.journal.log import Act, Log
from fastinstall.journal.mover import Mover
from fastinstall.journal.store import JournalStore
from fastinstall.model.move import MoveKind

_PACKAGE = "PIL"
_LIBRARIES = ".libs"
_METADATA = (".dist-info", ".egg-info")


@immutable
class Batch:
    """Moves that were announced together.

    Attributes:
        items: the moves with their absolute paths.
        created: parent directories that were made for the moves, outermost first.
    """

    items: tuple[moves.LocatedMove, ...]
    created: tuple[str, ...]


Placed = Batch | LocatedExternalChange | Adding
"""An act whose paths are resolved for an environment."""


def locate_act(log: Log, act: Act, prefix: Path, work: Path) -> Placed:
    """Return an act with the directories or absolute paths that undo needs, and with its outcome from the log.

    Args:
        log: the log of the transaction.
        act: an act of that log.
        prefix: the environment's prefix now; the environment may have moved since the transaction.
        work: the directory of the transaction's `stage` and `aside`.
    """
    match act:
        case ExternalChangeBegun():
            return LocatedExternalChange(begun=act, ended=log.outcome(act), prefix=prefix, work=work)
        case Adding():
            return act
        case _:
            return Batch(items=moves.batch(log, act, prefix, work), created=act.created)


def find_files_in_the_way(act: Placed, known: KnownFiles) -> Iterator[str]:
    """Yield foreign paths, relative to the prefix, that undoing the act would have to move away."""
    match act:
        case LocatedExternalChange():
            yield from external_changes.foreign(act, known)
        case Batch():
            yield from (item.move.live for item in act.items if moves.is_blocking(item, known))


def probe_renames(acts: Sequence[Placed], left: Conceding | None = None) -> None:
    """Check that all renames of an undo are possible, without making any; in a copied environment, some may not be.

    Raises:
        OSError: a rename would fail with this error; nothing has changed.
    """
    for act in acts:
        for item in act.items if isinstance(act, Batch) else ():
            if left is None or item.move.live not in left.paths:
                for source, target in moves.list_undo_renames(item):
                    _probe_rename(source, target)


def take_back(act: Placed, store: JournalStore, mover: Mover, left: Conceding | None = None) -> None:
    """Undo an act, or do nothing if it is undone already.

    Args:
        act: the act, as returned by `locate_act`.
        store: the store of the environment that the act changed.
        mover: does the renames, and records the trees that it has to move file by file.
        left: entries that are left to another program; None if there are none.

    Raises:
        OSError: a rename failed; no previous content has been overwritten.
    """
    match act:
        case LocatedExternalChange():
            external_changes.undo_external_change(act, mover)
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
    """Yield paths of previous content that cannot be restored, because it was removed since.

    Paths that an earlier act in `acts` installed are left out: undoing that act removes them anyway.
    """
    brought: set[str] = set()
    for act in acts:
        match act:
            case LocatedExternalChange():
                lost = external_changes.find_unrestorable(act)
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
    """Return all parent directories of a path, including "."."""
    return {parent.as_posix() for parent in PurePath(path).parents}


def find_conceded_entries(acts: Sequence[Placed], known: KnownFiles) -> Conceding:
    """Return the journal entry that lists the entries which undo leaves to another program that has replaced them.

    If some entries of a batch are replaced, its missing entries, PIL and PIL's libraries are left too. An external
    change of which some files are replaced is not undone at all, since its files belong together.
    """
    batches = [act for act in acts if isinstance(act, Batch)]
    paths = tuple(dict.fromkeys(path for batch in batches for path in _list_left_paths(batch, known)))
    return Conceding(
        paths=paths,
        dropped=tuple(
            item.move.live
            for batch in batches
            for item in batch.items
            if paths and item.move.live not in paths and is_metadata(item.move.live)
        ),
        areas=tuple(
            act.begun.area
            for act in acts
            if isinstance(act, LocatedExternalChange) and any(external_changes.foreign(act, known))
        ),
    )


def is_metadata(path: str) -> bool:
    """Return whether a path is a distribution's metadata or a conda package's record."""
    return PurePath(path).suffix in _METADATA or conda_records.is_record(path)


def is_of_stack(path: str) -> bool:
    """Return whether a path is PIL, its directory of libraries, or metadata of a package."""
    return PurePath(path).name == _PACKAGE or PurePath(path).suffix == _LIBRARIES or is_metadata(path)


def list_previous_sources(acts: Sequence[Placed], left: Conceding) -> Iterator[tuple[str, Path]]:
    """Yield previous entries that are not restored because of another program: path to restore, and path now.

    Entries that an interrupted undo has already moved to `kept/` are left out.
    """
    for act in acts:
        if isinstance(act, Batch):
            for item in act.items:
                source = moves.find_previous_entry(item) if item.move.live in (*left.paths, *left.dropped) else None
                if source is not None:
                    yield item.move.live, source
        elif isinstance(act, LocatedExternalChange) and act.begun.area in left.areas and not act.is_over:
            yield act.area.name, act.area


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


def _list_left_paths(batch: Batch, known: KnownFiles) -> Iterator[str]:
    """Yield the `live` paths of a batch that are left to another program.

    If there are any, PIL and its libraries are among them: their content may be identical in both builds, so it cannot
    show whose they are.
    """
    strange = {item.move.live for item in batch.items if moves.is_blocking(item, known)}
    absent = {item.move.live for item in batch.items if not os.path.lexists(item.live)}
    brought = {item.move.live for item in batch.items if item.move.kind is not MoveKind.OUT}
    shared = {path for path in brought if PurePath(path).name == _PACKAGE or PurePath(path).suffix == _LIBRARIES}
    if strange or absent & brought:
        yield from (item.move.live for item in batch.items if item.move.live in strange | absent | shared)
