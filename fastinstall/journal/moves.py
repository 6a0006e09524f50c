"""Perform the moves of a transaction, which are renames inside one environment, and undo them.

A move is between `live`, a path in the environment proper, and `kept`, a path in the transaction's directories. An
exchange in one step never leaves `live` absent. If the kernel or the filesystem cannot exchange, three renames are
made: `live` to `<kept>.swap`, `kept` to `live`, and `<kept>.swap` to `kept`. Undo decides by the files on disk, so it
can be interrupted and repeated any number of times.

An overlay filesystem (a container's layers) renames files of a lower layer but not its directories (EXDEV, unless
mounted with redirect_dir). Such a directory is moved file by file: the move is recorded in the journal, the directories
are created, and the files are renamed one by one. An interrupted move is completed before any other work.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core import files, rights
from fastinstall.core.values import immutable
from fastinstall.journal.conda_meta import HISTORY, keep_later_revisions, list_later_revisions
from fastinstall.journal.entries import MovedTree, Moving, MovingTree, TreeDirectory
from fastinstall.journal.fingerprints import KnownFiles, is_known_tree, is_known_whole, merge_manifests
from fastinstall.journal.held_directories import hold_parents
from fastinstall.journal.log import Journal, Log
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Move, MoveKind


class Mover:
    """Moves files and directories of one environment.

    Args:
        store: the environment's store.
        journal: the transaction's journal, which records trees that are moved file by file.
    """

    def __init__(self, store: JournalStore, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def move(self, source: Path, target: Path) -> None:
        """Rename `source` to `target`.

        The parent directory of `target` is made if it is missing: a copied environment often lacks empty directories.

        Raises:
            FileExistsError: the target exists.
            OSError: the rename failed.
        """
        if not target.parent.is_dir():
            rights.make_given_directories(target.parent)
        try:
            with hold_parents(self._store.home, source, target) as (held_source, held_target):
                files.rename(held_source, held_target)
        except OSError as error:
            if error.errno != errno.EXDEV or not _is_tree(source):
                raise
            self._move_tree(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two entries in one step and return True.

        If the kernel or the filesystem cannot do that, nothing changes and the result is False.
        """
        try:
            with hold_parents(self._store.home, one, other) as held:
                return files.exchange(*held)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return False

    def complete(self, log: Log) -> None:
        """Complete the file-by-file move of a tree if the log has an interrupted one."""
        if log.unfinished_tree_move is not None:
            self._carry_out(log.unfinished_tree_move)

    def _move_tree(self, source: Path, target: Path) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        directories = []
        for directory in (Path(path) for path, _, _ in os.walk(source)):
            path, status = directory.relative_to(source).as_posix(), directory.stat()
            mode = stat.S_IMODE(status.st_mode)
            directories.append(TreeDirectory(path=path, mode=mode, mtime_ns=status.st_mtime_ns))
        start, end = self._store.relative(source), self._store.relative(target)
        moving = MovingTree(source=start, target=end, directories=tuple(directories))
        self._journal.append(moving)
        self._carry_out(moving)

    def _carry_out(self, moving: MovingTree) -> None:
        source, target = self._store.prefix / moving.source, self._store.prefix / moving.target
        for directory in moving.directories:
            files.make_directories(target / directory.path)
        there = [each.path for each in moving.directories if (source / each.path).is_dir()]
        for path in there:
            for entry in sorted((source / path).iterdir()):
                if not _is_tree(entry):
                    files.rename(entry, target / path / entry.name)
        for directory in reversed(moving.directories):
            place = target / directory.path
            if directory.path in there:
                files.copy_rights(source / directory.path, place)
            place.chmod(directory.mode)
            os.utime(place, ns=(directory.mtime_ns, directory.mtime_ns))
            files.sync_directory(place)  # the new directory must be durable before the old one is removed
            if directory.path in there:
                (source / directory.path).rmdir()
        files.sync_directory(source.parent)
        self._journal.append(MovedTree())


@immutable
class LocatedMove:
    """A move with its absolute paths.

    Attributes:
        move: the move in the journal, with relative paths.
        inode: inode number at `live` before the move; 0 if `live` did not exist.
        live: absolute path in the environment proper, where Python searches.
        kept: absolute path in the transaction's `stage` or `aside`.
        brought: the known contents of the files that the move's batch brings in.
        certain: whether the move is proven to be done and not undone; see `locate_moves`.
    """

    move: Move
    inode: int
    live: Path
    kept: Path
    brought: KnownFiles
    certain: bool = False

    @property
    def swap(self) -> Path:
        """Temporary path, during an exchange by three renames, of the file that was at `live` before the move."""
        return self.kept.with_name(f"{self.kept.name}.swap")


def locate_moves(moving: Moving, prefix: Path, work: Path, log: Log | None = None) -> tuple[LocatedMove, ...]:
    """Return the moves of a batch with their absolute paths, in order.

    A move is `certain` if the journal says that it was done and that no undo has begun. But the undo of a transaction
    that did not commit may be unrecorded, because the disk was full. A move of such a transaction is therefore not
    `certain` if `live` has the previous inode again.

    Args:
        moving: the entry that announces the moves.
        prefix: the environment's prefix, to which `live` is relative.
        work: the transaction's directory, to which `kept` is relative.
        log: the log of the transaction; None before the moves are made.
    """
    brought = merge_manifests((moving.manifest,))
    happened = log is not None and log.happened(moving)
    found = []
    for move, inode in zip(moving.moves, moving.inodes, strict=True):
        live = prefix / move.live
        is_back = log is not None and not log.committed and os.path.lexists(live) and live.lstat().st_ino == inode
        certain = happened and not is_back
        found.append(
            LocatedMove(move=move, inode=inode, live=live, kept=work / move.kept, brought=brought, certain=certain)
        )
    return tuple(found)


def do(item: LocatedMove, mover: Mover) -> None:
    """Perform a move.

    Raises:
        OSError: a rename failed; nothing has been overwritten.
    """
    match item.move.kind:
        case MoveKind.OUT:
            mover.move(item.live, item.kept)
        case MoveKind.IN:
            mover.move(item.kept, item.live)
        case MoveKind.EXCHANGE:
            if not mover.exchange(item.live, item.kept):
                mover.move(item.live, item.swap)
                mover.move(item.kept, item.live)
                mover.move(item.swap, item.kept)


def undo_move(item: LocatedMove, mover: Mover) -> None:
    """Undo a move; do nothing if it was not done or is undone already.

    Raises:
        OSError: a rename failed; nothing has been overwritten.
    """
    if item.move.kind is MoveKind.EXCHANGE:
        _undo_exchange(item, mover)
        return
    for source, target in list_undo_renames(item):
        mover.move(source, target)


def list_undo_renames(item: LocatedMove) -> Iterator[tuple[Path, Path]]:
    """Yield the source and target of the rename that would undo the move now; nothing if the move is not in effect."""
    previous = find_previous_entry(item)
    if previous is not None:
        yield previous, item.live
    elif item.move.kind is MoveKind.IN and not os.path.lexists(item.kept) and os.path.lexists(item.live):
        yield item.live, item.kept


def is_blocking(item: LocatedMove, there: KnownFiles) -> bool:
    """Return whether `live` has foreign content, which undo would have to move away.

    Args:
        item: the move to undo.
        there: the known contents of the whole transaction, since its later batches may have changed `live` again.
    """
    if not os.path.lexists(item.live) or is_before(item):
        return False
    if os.path.lexists(item.swap) and os.path.lexists(item.kept):
        return True
    return not is_known_tree(item.live, item.move.live, there)


def is_before(item: LocatedMove) -> bool:
    """Return whether the move was not done, or is undone already."""
    return os.path.lexists(item.kept) if item.move.kind is MoveKind.IN else find_previous_entry(item) is None


def is_lost(item: LocatedMove) -> bool:
    """Return whether the file that was at `live` before the move cannot be restored, because it no longer exists."""
    return item.move.kind is not MoveKind.IN and not any(map(os.path.lexists, (item.live, item.kept, item.swap)))


def find_previous_entry(item: LocatedMove) -> Path | None:
    """Return the path that now holds the file that was at `live` before the move, or None if no path holds it."""
    if item.move.kind is MoveKind.IN:
        return None
    if item.move.kind is MoveKind.OUT:
        return item.kept if os.path.lexists(item.kept) else None
    if os.path.lexists(item.swap):
        return item.swap
    return item.kept if _is_previous_kept(item) else None


def directories_of(items: tuple[LocatedMove, ...]) -> Iterator[Path]:
    """Yield the directories whose entries the moves change."""
    return (path.parent for item in items for path in (item.live, item.kept))


def _undo_exchange(item: LocatedMove, mover: Mover) -> None:
    if os.path.lexists(item.swap):
        _from_swap(item, mover)
    elif _is_previous_kept(item):
        if item.move.live == HISTORY:
            known = item.brought.of(HISTORY)
            if item.live.is_file() and list_later_revisions(item.live, known) is None:
                return  # conda started this history anew, as in a clone; keep it
            keep_later_revisions(item.live, item.kept, known)
        if not os.path.lexists(item.live):
            mover.move(item.kept, item.live)
        elif not mover.exchange(item.live, item.kept):
            mover.move(item.kept, item.swap)
            _from_swap(item, mover)


def _from_swap(item: LocatedMove, mover: Mover) -> None:
    if os.path.lexists(item.live):
        mover.move(item.live, item.kept)
    mover.move(item.swap, item.live)


def _is_previous_kept(item: LocatedMove) -> bool:
    """Return whether `kept` has the file that was at `live` before the move.

    One of three signs is enough: 1. the journal proves that the move was done; 2. the content at `kept` is not the
    content that the batch brought; 3. `kept` has the inode that `live` had.
    """
    if not os.path.lexists(item.kept):
        return False
    is_certain = item.certain or item.kept.lstat().st_ino == item.inode
    return is_certain or not is_known_whole(item.kept, item.move.live, item.brought)


def _is_tree(source: Path) -> bool:
    return source.is_dir() and not source.is_symlink()
