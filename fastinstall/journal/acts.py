"""Locate the changes that a journal announces (acts), and find what prevents their undo. Nothing is changed.

If another program has replaced files, an undo can leave these and related files as they are (`find_conceded_entries`).
"""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from fastinstall.core.values import immutable
from fastinstall.journal import conda_meta, external_changes, moves
from fastinstall.journal.entries import Adding, Conceding, ExternalChangeBegun, Moving
from fastinstall.journal.external_changes import LocatedExternalChange
from fastinstall.journal.fingerprints import KnownFiles
from fastinstall.journal.log import Log
from fastinstall.model.history import MoveKind

_PACKAGE = "PIL"
_LIBRARIES = ".libs"
_METADATA = (".dist-info", ".egg-info")


@immutable
class Batch:
    """Moves that one journal entry announced.

    Attributes:
        items: the moves with their absolute paths.
        created: parent directories that were made for the moves, outermost first.
    """

    items: tuple[moves.LocatedMove, ...]
    created: tuple[str, ...]


Act = Batch | LocatedExternalChange | Adding
"""Changes that one journal entry announced, and that are undone together."""


def locate_acts(log: Log, prefix: Path) -> tuple[Act, ...]:
    """Return the acts of a transaction, oldest first.

    Args:
        log: the log of the transaction.
        prefix: the environment's present prefix; the environment may have been moved since the transaction.
    """
    work = prefix / (log.begun.work if log.begun is not None else "")
    acts: list[Act] = []
    for entry in log.acts:
        if isinstance(entry, Moving):
            acts.append(Batch(items=moves.locate_moves(entry, prefix, work, log), created=entry.created))
        elif isinstance(entry, ExternalChangeBegun):
            acts.append(LocatedExternalChange(begun=entry, ended=log.outcome(entry), prefix=prefix, work=work))
        else:
            acts.append(entry)
    return tuple(acts)


def list_moves(acts: Sequence[Act]) -> tuple[moves.LocatedMove, ...]:
    """Return the moves of all batches among the acts."""
    return tuple(item for act in acts if isinstance(act, Batch) for item in act.items)


def find_foreign_paths(prefix: Path, acts: Sequence[Act], log: Log, further: Sequence[str]) -> tuple[str, ...]:
    """Return the paths, relative to the prefix, of foreign content to move away before the acts are undone.

    Paths inside a directory that is itself in the result are left out.

    Args:
        prefix: the environment's prefix.
        acts: the acts of the transaction.
        log: the log of the transaction.
        further: paths that would contradict the restored files; those that do not exist are ignored.
    """
    known = log.known
    in_the_way: list[str] = []
    for act in acts:
        if isinstance(act, LocatedExternalChange):
            in_the_way += external_changes.foreign(act, known)
        elif isinstance(act, Batch):
            in_the_way += (item.move.live for item in act.items if moves.is_blocking(item, known))
    judged = {item.move.live for item in list_moves(acts)}  # the loop above has judged these paths
    intruding = [path for path in (*further, *find_intruding_records(prefix, log)) if path not in judged]
    found = dict.fromkeys((*in_the_way, *intruding))
    return tuple(path for path in found if os.path.lexists(prefix / path) and not parents_of(path) & found.keys())


def probe_renames(acts: Sequence[Act], left: Conceding | None = None) -> None:
    """Check that all renames of an undo are possible, without making any.

    In a copied environment, some renames may be impossible.

    Args:
        acts: the acts to undo.
        left: the entries that the undo leaves to another program, so that they are not renamed; None if there are none.

    Raises:
        OSError: a rename would fail with this error; nothing has changed.
    """
    for item in list_moves(acts):
        if left is None or item.move.live not in left.paths:
            for source, target in moves.list_undo_renames(item):
                _probe_rename(source, target)


def find_lost_by_acts(acts: Sequence[Act]) -> Iterator[str]:
    """Yield the paths whose previous content cannot be restored, because it no longer exists.

    Paths that an earlier act in `acts` installed are left out: undoing that act removes them anyway.
    """
    brought: set[str] = set()
    for act in acts:
        match act:
            case LocatedExternalChange():
                lost = external_changes.find_unrestorable(act)
                came = (*act.manifest, *act.begun.appearing)
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


def is_metadata(path: str) -> bool:
    """Return whether a path is a distribution's metadata or a conda package's record."""
    return PurePath(path).suffix in _METADATA or conda_meta.is_record(path)


def is_pillow(path: str) -> bool:
    """Return whether a path is the package `PIL`, or a wheel's directory of libraries ("pillow.libs")."""
    return PurePath(path).name == _PACKAGE or PurePath(path).suffix == _LIBRARIES


def is_taken_over(prefix: Path, log: Log) -> bool:
    """Return whether another installer has replaced or removed the metadata that an open transaction installed.

    The result is also True if there is metadata of another installer for the same distribution or conda package.
    """
    if log.begun is None or log.undoing is not None:
        return False
    known = log.known
    certain = [item for item in list_moves(locate_acts(log, prefix)) if item.certain and is_metadata(item.move.live)]
    for item in certain:
        is_gone = item.move.kind is not MoveKind.OUT and not os.path.lexists(item.live)
        if is_gone or moves.is_blocking(item, known):
            return True
    return _has_metadata_beside(certain) or bool(find_intruding_records(prefix, log))


def find_intruding_records(prefix: Path, log: Log, records: Mapping[str, Path] | None = None) -> tuple[str, ...]:
    """Return the conda records that undo must move away, and the files that they claim, relative to the prefix.

    A record must be moved away if it is newer than the transaction and at least one of these is true:

    1. An older record of the same package is about to be restored. Two records of one package break every conda engine.
    2. The record claims files of an external change whose end was not recorded.

    Args:
        prefix: the environment's prefix.
        log: the log of the transaction that is undone.
        records: paths of the records at the time of the undo, by file name; None for the records on disk now.
    """
    on_disk = {name: prefix / conda_meta.RECORDS / name for name in conda_meta.list_record_names(prefix)}
    moved = [move for batch in log.batches for move in batch.moves]
    touched = [copied.path for change in log.begun_changes for copied in change.copies]
    returning = (*(move.live for move in moved if move.kind is not MoveKind.IN), *touched)
    outcomes = [outcome for outcome in map(log.outcome, log.begun_changes) if outcome is not None]
    announced = (path for change in log.begun_changes for path in (*change.records, *change.paths))
    brought = (path for outcome in outcomes for path in outcome.manifest)
    known = {PurePath(path).name for path in (*(move.live for move in moved), *announced, *brought)}
    packages = {conda_meta.package(path) for path in returning if conda_meta.is_record(path)}
    unknown = frozenset(path for change in log.dark_changes for path in change.paths)
    found: list[str] = []
    for name, file in (on_disk if records is None else records).items():
        if name not in known and conda_meta.package(name) in packages:
            found += (f"{conda_meta.RECORDS}/{name}", *conda_meta.claims(file))
    for name, file in on_disk.items():
        claimed = conda_meta.claims(file) if unknown and name not in known else {}
        if not unknown.isdisjoint(claimed):
            found += (f"{conda_meta.RECORDS}/{name}", *claimed)
    return tuple(found)


def find_conceded_entries(acts: Sequence[Act], known: KnownFiles) -> Conceding:
    """Find the files that another program has replaced, and return the journal entry by which undo leaves them alone.

    If that program has replaced or removed some files of a batch, undo also leaves the batch's missing files, PIL and
    PIL's libraries alone. If it has replaced some files of an external change, the change is not undone at all, since
    its files belong together.
    """
    batches = (act for act in acts if isinstance(act, Batch))
    paths = tuple(dict.fromkeys(path for batch in batches for path in _list_left_paths(batch, known)))
    installed = [item.move.live for item in list_moves(acts)] if paths else []
    changes = (act for act in acts if isinstance(act, LocatedExternalChange))
    return Conceding(
        paths=paths,
        dropped=tuple(path for path in installed if path not in paths and is_metadata(path)),
        areas=tuple(act.begun.area for act in changes if any(external_changes.foreign(act, known))),
    )


def list_previous_sources(acts: Sequence[Act], left: Conceding) -> Iterator[tuple[str, Path]]:
    """Yield the original and the present path of each previous file that is not restored because of another program.

    For an external change, one pair stands for all files: the name and the path of the directory with the copies. Files
    that an interrupted undo has already moved to `kept/` are left out.
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

    If any path is left, PIL and its libraries are left too: their files may be identical in the builds of both
    programs, so their content does not show who installed them.
    """
    strange = {item.move.live for item in batch.items if moves.is_blocking(item, known)}
    absent = {item.move.live for item in batch.items if not os.path.lexists(item.live)}
    brought = {item.move.live for item in batch.items if item.move.kind is not MoveKind.OUT}
    if strange or absent & brought:
        left = strange | absent | set(filter(is_pillow, brought))
        yield from (item.move.live for item in batch.items if item.move.live in left)


def _has_metadata_beside(certain: Sequence[moves.LocatedMove]) -> bool:
    """Return whether a distribution that the moves installed has a second metadata directory.

    A second one shows that another installer was active: conda, for example, leaves pip's metadata beside its own.
    """
    own = {item.live for item in certain if item.live.suffix != ".json"}
    names = {_get_distribution_name(path) for path in own}
    beside = (path for directory in {path.parent for path in own} if directory.is_dir() for path in directory.iterdir())
    return any(is_metadata(path.name) and _get_distribution_name(path) in names and path not in own for path in beside)


def _get_distribution_name(path: Path) -> str:
    return path.name.partition("-")[0].lower()
