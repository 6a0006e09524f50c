"""What is left to another program when a transaction is undone: places that it has taken, and what goes with them."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.journal import conda_records, external_undo, moves
from fastinstall.journal.acts import (
    Batch,
    Placed,
)
from fastinstall.journal.entries import Conceding
from fastinstall.journal.external_undo import LocatedExternalChange
from fastinstall.journal.fingerprints import KnownFiles
from fastinstall.model.move import MoveKind

_PACKAGE = "PIL"

_LIBRARIES = ".libs"

_METADATA = (".dist-info", ".egg-info")


def find_conceded_entries(acts: Sequence[Placed], known: KnownFiles) -> Conceding:
    """Return what is left to the other program: entries that are not ours any more, and with them some others.

    Of a batch with such entries, those are left too that are gone, or that may be the other's.

    An external change that another program has taken over is left whole: what it changed is consistent in itself.
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
            if isinstance(act, LocatedExternalChange) and any(external_undo.foreign(act, known))
        ),
    )


def is_metadata(path: str) -> bool:
    """Return whether a path is that of a distribution's or of a conda package's description."""
    return PurePath(path).suffix in _METADATA or conda_records.is_record(path)


def is_of_stack(path: str) -> bool:
    """Return whether a path is that of PIL, of its libraries, or of their description."""
    return PurePath(path).name == _PACKAGE or PurePath(path).suffix == _LIBRARIES or is_metadata(path)


def _list_left_paths(batch: Batch, known: KnownFiles) -> Iterator[str]:
    """Yield the entries of a batch that are left.

    Libraries and modules may be the same in their build and in ours, to the byte: content does not tell whose.
    """
    strange = {item.move.live for item in batch.items if moves.is_blocking(item, known)}
    absent = {item.move.live for item in batch.items if not os.path.lexists(item.live)}
    brought = {item.move.live for item in batch.items if item.move.kind is not MoveKind.OUT}
    shared = {path for path in brought if PurePath(path).name == _PACKAGE or PurePath(path).suffix == _LIBRARIES}
    if strange or absent & brought:
        yield from (item.move.live for item in batch.items if item.move.live in strange | absent | shared)


def list_previous_sources(acts: Sequence[Placed], left: Conceding) -> Iterator[tuple[str, Path]]:
    """Yield what was there before, of what is left, and where it lies; what was moved already is passed over."""
    for act in acts:
        if isinstance(act, Batch):
            for item in act.items:
                source = moves.find_previous_entry(item) if item.move.live in (*left.paths, *left.dropped) else None
                if source is not None:
                    yield item.move.live, source
        elif isinstance(act, LocatedExternalChange) and act.begun.area in left.areas and not act.is_over:
            yield act.area.name, act.area
