"""Write images into a store and read them back; called by `_loading.py` in a target, on Python 3.8 or later.

The kinds of stores are in `_stores/`. This file adds two things for measurements: writing stops at a size limit, and
the name of each image in the store begins with its index among the measured images.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

from . import _loading

KEEP_FREE = 1 << 30
"""Bytes of disk space to leave free; if less than twice as much is free, half of the free space."""
DIGITS = 8
"""Number of digits of the index at the beginning of a name."""


class Store:
    """The images in a store, by their index among all measured images."""

    def __init__(self, kind: str, path: str) -> None:
        self.reader = _loading.import_equipped("_stores." + kind).Reader(path)
        self.positions = {index: position for position, index in enumerate(held(self.reader))}

    def read(self, index: int) -> bytes:
        """Return the bytes of an image's file."""
        return bytes(self.reader.read(self.positions[index]))

    def path(self, index: int) -> str:
        """Return the path of an image's file; only for stores with one file per image."""
        return str(self.reader.path(self.positions[index]))

    def files(self) -> List[str]:
        """Close the store's files and return their paths, so that they can be dropped from the page cache."""
        self.reader.close()
        return list(self.reader.paths)


def held(reader: Any) -> List[int]:
    """Return the indexes of the images in a store, in the order of the store."""
    return [int(reader.name(position)[:DIGITS]) for position in range(len(reader))]


def make(kind: str, images: List[str], out: str, limit_bytes: int, wanted: Dict[str, Any]) -> Dict[str, Any]:
    """Write images into a store until it is larger than `limit_bytes`.

    Returns:
        The store's size in bytes, the indexes of its images, and error texts of images that failed.
    """
    module, written, skipped, disk = _loading.import_equipped("_stores." + kind), 0, [], os.statvfs(out)
    wanted = {**wanted, "keep_free": min(KEEP_FREE, disk.f_bavail * disk.f_frsize // 2)}
    named = [("%0*d%s" % (DIGITS, index, os.path.splitext(path)[1]), path) for index, path in enumerate(images)]
    outcomes = module.make(named, out, wanted)
    for _, size, trouble in outcomes:
        written += size
        skipped += [trouble] if trouble else []
        if written > limit_bytes:
            break
    outcomes.close()
    size = sum(os.path.getsize(os.path.join(place, each)) for place, _, names in os.walk(out) for each in names)
    return {"bytes": size, "held": held(module.Reader(out)), "skipped": skipped}
