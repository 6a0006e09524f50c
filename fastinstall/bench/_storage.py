"""Runs inside a target, called by `_loading.py`: puts images into a store and reads them from there. Python 3.8.

`_stores/` describes the kinds. This file adds what only a measurement needs: it stops soon after a limit, and the name
of an image in a store begins with the index that it has among all measured images.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

from . import _loading

KEEP_FREE = 1 << 30
"""Free bytes to leave for other programs; half of a small disk."""
DIGITS = 8
"""Of the index that a name begins with."""


class Store:
    """Images by their index among all measured images."""

    def __init__(self, kind: str, path: str) -> None:
        self.reader = _loading.import_equipped("_stores." + kind).Reader(path)
        self.positions = {index: position for position, index in enumerate(held(self.reader))}

    def __len__(self) -> int:
        return len(self.positions)

    def read(self, index: int) -> bytes:
        """Return the bytes of an image's file."""
        return bytes(self.reader.read(self.positions[index]))

    def path(self, index: int) -> str:
        """Return the file of an image, in a store with one for each."""
        return str(self.reader.path(self.positions[index]))

    def suffix(self, index: int) -> str:
        """Return what separates images read by different code: the extension of the name."""
        return os.path.splitext(str(self.reader.name(self.positions[index])))[1].lower()

    def files(self) -> List[str]:
        """Return the files on disk, closed, so that they can be dropped from the page cache."""
        self.reader.close()
        return list(self.reader.paths)


def held(reader: Any) -> List[int]:
    """Return the indexes of the images that a reader has, in its order."""
    return [int(reader.name(position)[:DIGITS]) for position in range(len(reader))]


def make(kind: str, images: List[str], out: str, limit_bytes: int, wanted: Dict[str, Any]) -> Dict[str, Any]:
    """Make a store; return its size in bytes, the images in it, and why others were left out."""
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
