"""Find images: a bounded search, and a repeatable sample.

Nothing is decoded here.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

_EXTENSIONS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".dib", ".gif", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pnm", ".jp2", ".j2k", ".jpx", ".avif", ".tga", ".qoi", ".mpo", ".apng", ".heic", ".heif"),
)
_SKIPPED = frozenset(("node_modules", "__pycache__"))

MOST_SECONDS = 5.0


class ImageSearch:
    """A search, and its result.

    Attributes:
        others: how many files do not look like images.
        unreadable: directories that could not be listed.
        complete: whether the search finished in time.
    """

    def __init__(self) -> None:
        self.others = 0
        self.unreadable: list[Path] = []
        self.complete = True
        self._found: set[Path] = set()
        self._end = time.monotonic() + MOST_SECONDS
        self._seen: set[str] = set()

    @cached_property
    def images(self) -> tuple[Path, ...]:
        """Files that look like images, sorted by path."""
        return tuple(sorted(self._found))

    def walk(self, top: Path) -> None:
        """Search a directory; anything else counts as a file."""
        if top.exists() and not top.is_dir():
            self._found.add(top)
            return
        for directory, inner, names in os.walk(top, onerror=self._note_unreadable, followlinks=True):
            if not self._is_first(directory):
                inner.clear()
                continue
            inner[:] = [each for each in inner if not each.startswith(".") and each not in _SKIPPED]
            for name in names:
                if time.monotonic() >= self._end:
                    self.complete = False
                    return
                path = os.path.join(directory, name)  # noqa: PTH118 (hundreds of thousands of objects cost too much time)
                if path.lower().endswith(_EXTENSIONS) and os.path.isfile(path):  # noqa: PTH113 (as above)
                    self._found.add(Path(path))
                else:
                    self.others += 1

    def _is_first(self, directory: str) -> bool:
        real = os.path.realpath(directory)
        first = real not in self._seen
        self._seen.add(real)
        return first

    def _note_unreadable(self, error: OSError) -> None:
        self.unreadable.append(Path(str(error.filename)))


def find_images(places: Sequence[Path]) -> ImageSearch:
    """Search directories for images, by extension.

    A file named explicitly always counts. Hidden directories are skipped, and each directory is searched once, even if
    several links lead to it.

    Args:
        places: directories and files that exist.
    """
    search = ImageSearch()
    for place in places:
        search.walk(place)
    return search


def spread_evenly(images: Sequence[Path]) -> tuple[Path, ...]:
    """Reorder images, always in the same way, so that every beginning is an even sample of each kind."""
    by_kind: dict[str, list[Path]] = {}
    for each in sorted(images, key=lambda each: hashlib.sha1(os.fsencode(each), usedforsecurity=False).digest()):
        by_kind.setdefault(each.suffix.lower(), []).append(each)
    placed = [((number + 0.5) / len(kind), each) for kind in by_kind.values() for number, each in enumerate(kind)]
    return tuple(each for _, each in sorted(placed, key=lambda each: each[0]))
