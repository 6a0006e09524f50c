"""How much room a store takes at most, told before it is made; and which images are stored where not all have room."""

import os
from collections.abc import Sequence
from pathlib import Path

from fastinstall.bench.store_kinds import Sized, StoreKind
from fastinstall.model.images import Pipeline
from fastinstall.model.immutable import immutable

MOST_BYTES = 1 << 30
PART_OF_FREE = 10
_BASE = 1 << 16
"""What an empty store takes."""
_OVERHEAD = 3 * 4096
"""What is around an image: parts of pages (LMDB), a header and padding (tar), its entry in an index."""


@immutable
class StoreBounds:
    """What a store may take.

    Attributes:
        most_bytes: of one store; they are made one at a time.
        free_bytes: that are free on its disk.
    """

    most_bytes: int
    free_bytes: int = 0


@immutable
class Estimate:
    """What a store would come to, before it is made.

    Attributes:
        indexes: of the images that have room, spread evenly where that is not all of them.
        most_bytes: what these take at most.
        all_bytes: what all of them would.
    """

    indexes: tuple[int, ...]
    most_bytes: int
    all_bytes: int


def bounds_of(directory: Path) -> StoreBounds:
    """1 GiB, or a tenth of what is free on this disk where that is less.

    Raises:
        OSError: the directory is not there.
    """
    disk = os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    return StoreBounds(most_bytes=min(MOST_BYTES, free // PART_OF_FREE), free_bytes=free)


def estimate_store(kind: StoreKind, images: Sequence[Sized], pipeline: Pipeline, bounds: StoreBounds) -> Estimate:
    """What a store of this kind would take, and which images it can hold.

    Args:
        kind: which one.
        images: in the order of their indexes.
        pipeline: what is done to every image.
        bounds: that it has to keep.
    """
    wanted = {"shorter": pipeline.shorter, "crop": pipeline.crop, "filter": pipeline.filter}
    sizes = [kind.most_bytes(each, wanted) + _OVERHEAD for each in images]
    count = len(images)
    while count and _BASE + sum(sizes[index] for index in _spread(count, len(images))) > bounds.most_bytes:
        count -= 1
    indexes = _spread(count, len(images))
    return Estimate(
        indexes=indexes,
        most_bytes=_BASE + sum(sizes[index] for index in indexes),
        all_bytes=_BASE + sum(sizes),
    )


def _spread(count: int, whole: int) -> tuple[int, ...]:
    return tuple(number * whole // count for number in range(count))
