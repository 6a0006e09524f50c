"""One move done, and one move undone from whatever state it is found in.

An exchange in one step leaves `live` never absent. Where kernel or filesystem cannot, it takes three
renames by way of `<kept>.swap`, which always holds what stood at `live` before. Undoing looks at
what is where, so it can be cut off and begun again any number of times.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.journal.entries import Log
from fastinstall.journal.fingerprint import is_ours
from fastinstall.journal.relocate import Mover
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind


@immutable
class Placed:
    """A move and where its ends lie.

    Attributes:
        move: the move.
        inode: of what stood at `live` before; 0 where nothing did.
        live: the path where Python looks.
        kept: the path where we keep.
        certain: the journal says that it happened, and undoing has not begun.
    """

    move: Move
    inode: int
    live: Path
    kept: Path
    certain: bool = False

    @property
    def swap(self) -> Path:
        """Where an exchange in three steps parks what stood at `live`."""
        return self.kept.with_name(f"{self.kept.name}.swap")


def placed(log: Log, prefix: Path, work: Path) -> tuple[Placed, ...]:
    """Every move that a journal announces, in order."""
    return tuple(
        Placed(move=move, inode=inode, live=prefix / move.live, kept=work / move.kept, certain=log.happened(batch))
        for batch in log.batches
        for move, inode in zip(batch.moves, batch.inodes, strict=True)
    )


def do(item: Placed, mover: Mover) -> None:
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


def undo(item: Placed, mover: Mover, manifest: Mapping[str, str]) -> None:
    """Bring back what was there; nothing to do where the move did not happen or is undone already.

    Raises:
        OSError: as the kernel says; nothing has been overwritten.
    """
    match item.move.kind:
        case MoveKind.OUT:
            if _there(item.kept):
                mover.move(item.kept, item.live)
        case MoveKind.IN:
            if not _there(item.kept) and _there(item.live):
                mover.move(item.live, item.kept)
        case MoveKind.EXCHANGE:
            _undo_exchange(item, mover, manifest)


def blocks(item: Placed, manifest: Mapping[str, str]) -> bool:
    """Whether something foreign stands at `live`, which undoing would have to put away."""
    if not _there(item.live) or _before_is_live(item, manifest):
        return False
    if _there(item.swap) and _there(item.kept):
        return True
    return not is_ours(item.live, item.move.live, manifest)


def is_lost(item: Placed) -> bool:
    """Whether what stood at `live` before is nowhere any more: somebody has removed it."""
    return item.move.kind is not MoveKind.IN and not any(map(_there, (item.live, item.kept, item.swap)))


def parents(items: tuple[Placed, ...]) -> Iterator[Path]:
    """The directories whose entries the moves change, each of them once."""
    yield from dict.fromkeys(path.parent for item in items for path in (item.live, item.kept) if path.parent.is_dir())


def _undo_exchange(item: Placed, mover: Mover, manifest: Mapping[str, str]) -> None:
    if _there(item.swap):
        _from_swap(item, mover)
    elif _before_is_kept(item, manifest):
        if not _there(item.live):
            mover.move(item.kept, item.live)
        elif not mover.exchange(item.live, item.kept):
            mover.move(item.kept, item.swap)
            _from_swap(item, mover)


def _from_swap(item: Placed, mover: Mover) -> None:
    if _there(item.live):
        mover.move(item.live, item.kept)
    mover.move(item.swap, item.live)


def _before_is_live(item: Placed, manifest: Mapping[str, str]) -> bool:
    """Whether `live` is as it was before the move: not done, or undone already."""
    match item.move.kind:
        case MoveKind.OUT:
            return not _there(item.kept)
        case MoveKind.IN:
            return _there(item.kept)
        case MoveKind.EXCHANGE:
            return not _there(item.swap) and not _before_is_kept(item, manifest)


def _before_is_kept(item: Placed, manifest: Mapping[str, str]) -> bool:
    """By the journal's word; else by content; where both trees have the same, by inode."""
    if not _there(item.kept):
        return False
    return item.certain or not is_ours(item.kept, item.move.live, manifest) or item.kept.lstat().st_ino == item.inode


def _there(path: Path) -> bool:
    return os.path.lexists(path)
