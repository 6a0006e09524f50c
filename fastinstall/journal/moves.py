"""Perform one move, and undo one from whatever state it is found in.

An exchange in one step never leaves `live` absent. Where kernel or filesystem cannot do it, it takes three renames by
way of `<kept>.swap`, which always holds what stood at `live` before. Undoing looks at what lies where, so it can be
interrupted and repeated any number of times.
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
    """A move and where its ends lie.

    Attributes:
        move: as the journal has it, with relative paths.
        inode: of what stood at `live` before; 0 where nothing did.
        live: the path where Python looks.
        kept: the path where we keep.
        brought: what its batch brings in.
        certain: the journal says that it happened, and undoing has not begun.
    """

    move: Move
    inode: int
    live: Path
    kept: Path
    brought: KnownFiles
    certain: bool = False

    @property
    def swap(self) -> Path:
        """Where an exchange in three steps parks what stood at `live`."""
        return self.kept.with_name(f"{self.kept.name}.swap")


def locate_moves(batch: Moving, prefix: Path, work: Path, *, certain: bool = False) -> tuple[LocatedMove, ...]:
    """Locate every move of a batch, in order."""
    brought = merge_manifests((batch.manifest,))
    return tuple(
        LocatedMove(
            move=move, inode=inode, live=prefix / move.live, kept=work / move.kept, brought=brought, certain=certain
        )
        for move, inode in zip(batch.moves, batch.inodes, strict=True)
    )


def batch(log: Log, moving: Moving, prefix: Path, work: Path) -> tuple[LocatedMove, ...]:
    """Locate the moves of a batch as a journal tells them.

    One that did not commit may be undone in part although its journal does not say so: the disk was full.
    """
    items = locate_moves(moving, prefix, work, certain=log.happened(moving))
    if log.committed:
        return items
    return tuple(replace(item, certain=item.certain and not _is_back(item)) for item in items)


def do(item: LocatedMove, mover: Mover) -> None:
    """Carry a move out.

    Raises:
        OSError: as the kernel says; nothing has been overwritten.
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
    """Bring back what was there; nothing to do where the move did not happen or is undone already.

    Raises:
        OSError: as the kernel says; nothing has been overwritten.
    """
    if item.move.kind is MoveKind.EXCHANGE:
        _undo_exchange(item, mover)
        return
    for source, target in list_undo_renames(item):
        mover.move(source, target)


def list_undo_renames(item: LocatedMove) -> Iterator[tuple[Path, Path]]:
    """Yield the rename that undoing would do now, from where to where; nothing where the move did not happen."""
    previous = find_previous_entry(item)
    if previous is not None:
        yield previous, item.live
    elif item.move.kind is MoveKind.IN and not os.path.lexists(item.kept) and os.path.lexists(item.live):
        yield item.live, item.kept


def is_blocking(item: LocatedMove, there: KnownFiles) -> bool:
    """Return whether something foreign stands at `live`, which undoing would have to put away.

    Args:
        item: the move that would be undone.
        there: what is known of the whole transaction, since a later batch may have changed it again.
    """
    if not os.path.lexists(item.live) or is_before(item):
        return False
    if os.path.lexists(item.swap) and os.path.lexists(item.kept):
        return True
    return not is_known_tree(item.live, item.move.live, there)


def is_before(item: LocatedMove) -> bool:
    """Return whether `live` is as it was before the move: not done, or undone already."""
    return os.path.lexists(item.kept) if item.move.kind is MoveKind.IN else find_previous_entry(item) is None


def is_lost(item: LocatedMove) -> bool:
    """Return whether what stood at `live` before is nowhere any more: somebody has removed it."""
    return item.move.kind is not MoveKind.IN and not any(map(os.path.lexists, (item.live, item.kept, item.swap)))


def find_previous_entry(item: LocatedMove) -> Path | None:
    """Return where the previous entry of `live` is kept, or None if it is not kept anywhere."""
    if item.move.kind is MoveKind.IN:
        return None
    if item.move.kind is MoveKind.OUT:
        return item.kept if os.path.lexists(item.kept) else None
    if os.path.lexists(item.swap):
        return item.swap
    return item.kept if _is_previous_kept(item) else None


def make_plain_arrival(item: LocatedMove) -> LocatedMove:
    """Make an exchange a move in, as if nothing had stood there: its undoing takes ours away, and returns nothing."""
    return replace(item, move=replace(item.move, kind=MoveKind.IN))


def directories_of(items: tuple[LocatedMove, ...]) -> Iterator[Path]:
    """Yield the directories whose entries the moves change, each of them once."""
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
    """Return whether conda has begun another history, as for a clone: it tells of this environment, and stays."""
    return (
        item.move.live == HISTORY
        and item.live.is_file()
        and list_later_revisions(item.live, item.brought.of(HISTORY)) is None
    )


def _keep_later_revisions(item: LocatedMove) -> None:
    """Carry over what conda has noted in its history since we exchanged it: it is not ours to take away."""
    if item.move.live == HISTORY:
        carry(list_later_revisions(item.live, item.brought.of(HISTORY)) or b"", item.kept, like=item.live)


def _from_swap(item: LocatedMove, mover: Mover) -> None:
    if os.path.lexists(item.live):
        mover.move(item.live, item.kept)
    mover.move(item.swap, item.live)


def _is_previous_kept(item: LocatedMove) -> bool:
    """Judge by the journal's word; else by content; where both trees have the same, by inode."""
    if not os.path.lexists(item.kept):
        return False
    return (
        item.certain
        or not is_known_whole(item.kept, item.move.live, item.brought)
        or item.kept.lstat().st_ino == item.inode
    )


def _is_back(item: LocatedMove) -> bool:
    return os.path.lexists(item.live) and item.live.lstat().st_ino == item.inode
