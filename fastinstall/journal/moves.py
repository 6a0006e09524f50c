"""Perform a move, and undo a move, even if the move or an earlier undo was interrupted.

An exchange in one step never leaves `live` absent. If the kernel or the filesystem cannot exchange, three renames are
made: `live` to `<kept>.swap`, `kept` to `live`, and `<kept>.swap` to `kept`. Undo decides by the files on disk, so it
can be interrupted and repeated any number of times.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.journal.conda_revisions import HISTORY, carry, list_later_revisions
from fastinstall.journal.entries import Moving
from fastinstall.journal.fingerprints import KnownFiles, is_known_tree, is_known_whole, merge_manifests
from fastinstall.journal.log import Log
from fastinstall.journal.mover import Mover
from fastinstall.model.move import Move, MoveKind


@immutable
class LocatedMove:
    """A move with its absolute paths.

    Attributes:
        move: the move in the journal, with relative paths.
        inode: inode number at `live` before the move; 0 if `live` did not exist.
        live: absolute path in the environment proper, where Python searches.
        kept: absolute path in the transaction's `stage` or `aside`.
        brought: the files that the batch of the move brings in.
        certain: whether the journal says that the move was done and that its undo has not begun.
    """

    move: Move
    inode: int
    live: Path
    kept: Path
    brought: KnownFiles
    certain: bool = False

    @property
    def swap(self) -> Path:
        """Temporary path of the previous entry of `live` during an exchange in three renames."""
        return self.kept.with_name(f"{self.kept.name}.swap")


def locate_moves(batch: Moving, prefix: Path, work: Path, *, certain: bool = False) -> tuple[LocatedMove, ...]:
    """Return the moves of a batch with their absolute paths, in order."""
    brought = merge_manifests((batch.manifest,))
    return tuple(
        LocatedMove(
            move=move, inode=inode, live=prefix / move.live, kept=work / move.kept, brought=brought, certain=certain
        )
        for move, inode in zip(batch.moves, batch.inodes, strict=True)
    )


def batch(log: Log, moving: Moving, prefix: Path, work: Path) -> tuple[LocatedMove, ...]:
    """Return the moves of a batch with their absolute paths, and whether each was certainly done and not undone.

    In a transaction that did not commit, a move may be undone without a record, because the disk was full. Such a
    move is not certain if the previous inode is at `live` again.
    """
    items = locate_moves(moving, prefix, work, certain=log.happened(moving))
    if log.committed:
        return items
    return tuple(replace(item, certain=item.certain and not _is_back(item)) for item in items)


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
        there: known files of the whole transaction, since its later batches may have changed `live` again.
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
    """Return whether the previous entry of `live` cannot be restored, because it was removed since."""
    return item.move.kind is not MoveKind.IN and not any(map(os.path.lexists, (item.live, item.kept, item.swap)))


def find_previous_entry(item: LocatedMove) -> Path | None:
    """Return the path that keeps the previous entry of `live`, or None if it is not kept."""
    if item.move.kind is MoveKind.IN:
        return None
    if item.move.kind is MoveKind.OUT:
        return item.kept if os.path.lexists(item.kept) else None
    if os.path.lexists(item.swap):
        return item.swap
    return item.kept if _is_previous_kept(item) else None


def make_plain_arrival(item: LocatedMove) -> LocatedMove:
    """Return the move as a `MoveKind.IN`: undoing it removes our entry and does not restore the previous one."""
    return replace(item, move=replace(item.move, kind=MoveKind.IN))


def directories_of(items: tuple[LocatedMove, ...]) -> Iterator[Path]:
    """Yield the existing directories whose entries the moves change, each once."""
    yield from dict.fromkeys(path.parent for item in items for path in (item.live, item.kept) if path.parent.is_dir())


def _undo_exchange(item: LocatedMove, mover: Mover) -> None:
    if os.path.lexists(item.swap):
        _from_swap(item, mover)
    elif _is_previous_kept(item):
        if _is_of_a_copy(item):
            return
        _keep_later_revisions(item)
        if not os.path.lexists(item.live):
            mover.move(item.kept, item.live)
        elif not mover.exchange(item.live, item.kept):
            mover.move(item.kept, item.swap)
            _from_swap(item, mover)


def _is_of_a_copy(item: LocatedMove) -> bool:
    """Return whether `live` is a history that conda started anew, as in a clone; undo must leave it in place."""
    return (
        item.move.live == HISTORY
        and item.live.is_file()
        and list_later_revisions(item.live, item.brought.of(HISTORY)) is None
    )


def _keep_later_revisions(item: LocatedMove) -> None:
    """Append the revisions that conda wrote after its history was exchanged to the history that undo restores."""
    if item.move.live == HISTORY:
        carry(list_later_revisions(item.live, item.brought.of(HISTORY)) or b"", item.kept, like=item.live)


def _from_swap(item: LocatedMove, mover: Mover) -> None:
    if os.path.lexists(item.live):
        mover.move(item.live, item.kept)
    mover.move(item.swap, item.live)


def _is_previous_kept(item: LocatedMove) -> bool:
    """Return whether `kept` holds the previous entry of `live`.

    True if one of three holds: 1. the journal proves that the move was done; 2. the content at `kept` is not the
    content that the batch brought; 3. `kept` has the inode of the previous entry.
    """
    if not os.path.lexists(item.kept):
        return False
    return (
        item.certain
        or not is_known_whole(item.kept, item.move.live, item.brought)
        or item.kept.lstat().st_ino == item.inode
    )


def _is_back(item: LocatedMove) -> bool:
    return os.path.lexists(item.live) and item.live.lstat().st_ino == item.inode
