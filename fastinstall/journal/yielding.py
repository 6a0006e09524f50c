"""Leave a place to another program that has taken it: what was there before goes to people instead of coming back.

What is left to it is decided once and stands in the journal, so that an undoing which was cut off goes on with it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.journal import disengage, moves, records
from fastinstall.journal.acts import Batch, Placed
from fastinstall.journal.disengage import Engagement
from fastinstall.journal.entries import Yielding
from fastinstall.journal.known import Known
from fastinstall.journal.relocate import Mover
from fastinstall.model.receipt import MoveKind
from fastinstall.system import files

_PACKAGE = "PIL"
_LIBRARIES = ".libs"
_METADATA = (".dist-info", ".egg-info")


def yielding(acts: Sequence[Placed], known: Known) -> Yielding:
    """What is left: entries that are not ours any more, and of a batch with such, those that are gone or may be theirs.

    A stretch that another program has overrun is left whole: what it changed is consistent in itself.
    """
    batches = [act for act in acts if isinstance(act, Batch)]
    paths = tuple(dict.fromkeys(path for batch in batches for path in _left(batch, known)))
    return Yielding(
        paths=paths,
        dropped=tuple(
            item.move.live
            for batch in batches
            for item in batch.items
            if paths and item.move.live not in paths and is_metadata(item.move.live)
        ),
        areas=tuple(act.engaging.area for act in acts if isinstance(act, Engagement) and _is_overrun(act, known)),
    )


def keep(acts: Sequence[Placed], left: Yielding, target: Callable[[str], Path], mover: Mover) -> tuple[Path, ...]:
    """Move what was there before, of what is left, to where people find it; nothing to do where that has happened.

    Args:
        acts: of the transaction.
        left: to the other program.
        target: a free place for what stood at a path relative to the prefix.
        mover: of the transaction.

    Returns:
        Where it lies now.

    Raises:
        OSError: as the kernel says; nothing has been overwritten.
    """
    kept: list[Path] = []
    for path, source in _before(acts, left):
        place = target(path)
        files.make_directories(place.parent)
        mover.move(source, place)
        files.sync_directory(place.parent)
        kept.append(place)
    return tuple(kept)


def is_metadata(path: str) -> bool:
    """Whether a path is that of a distribution's or of a conda package's description."""
    return PurePath(path).suffix in _METADATA or records.is_record(path)


def is_absent(path: Path) -> bool:
    """Whether nothing is there, not even a link to nowhere."""
    return not os.path.lexists(path)


def _left(batch: Batch, known: Known) -> Iterator[str]:
    """Libraries and modules may be the same in their build and in ours, to the byte: content does not tell whose."""
    strange = {item.move.live for item in batch.items if moves.blocks(item, known)}
    absent = {item.move.live for item in batch.items if is_absent(item.live)}
    brought = {item.move.live for item in batch.items if item.move.kind is not MoveKind.OUT}
    shared = {path for path in brought if PurePath(path).name == _PACKAGE or PurePath(path).suffix == _LIBRARIES}
    if strange or absent & brought:
        yield from (item.move.live for item in batch.items if item.move.live in strange | absent | shared)


def _is_overrun(act: Engagement, known: Known) -> bool:
    return any(True for _ in disengage.foreign(act, known))


def _before(acts: Sequence[Placed], left: Yielding) -> Iterator[tuple[str, Path]]:
    for act in acts:
        if isinstance(act, Batch):
            for item in act.items:
                source = moves.before(item) if item.move.live in (*left.paths, *left.dropped) else None
                if source is not None:
                    yield item.move.live, source
        elif isinstance(act, Engagement) and act.engaging.area in left.areas and not act.is_over:
            yield act.area.name, act.area
