"""Which images are measured: a bounded search, and of what it finds a sample that is spread evenly and repeats.

Nothing is decoded here, and of files with an extension nothing is read.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.model.immutable import immutable

EXTENSIONS = frozenset(
    (
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".dib", ".gif", ".tif", ".tiff"),
        *(".ppm", ".pgm", ".pnm", ".jp2", ".j2k", ".jpx", ".avif", ".tga", ".qoi", ".mpo", ".apng"),
    )
)
_MAGIC = (
    *(b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"P5", b"P6", b"qoif"),
    *(b"\0\0\0\x0cjP  ", b"\xffO\xffQ"),
)
_SKIPPED = frozenset(("node_modules", "__pycache__"))


@immutable
class SearchBounds:
    """Where a search ends.

    Attributes:
        entries: of directories, that are looked at.
        seconds: that it takes.
    """

    entries: int = 200_000
    seconds: float = 5.0


@immutable
class Found:
    """What a search came to.

    Attributes:
        images: files that look like images, sorted by path.
        others: how many files do not.
        unreadable: directories that could not be listed.
        complete: whether all was searched before a bound was met.
    """

    images: tuple[Path, ...]
    others: int
    unreadable: tuple[Path, ...]
    complete: bool


def find_images(places: Sequence[Path], bounds: SearchBounds | None = None) -> Found:
    """Search directories for images, by their extensions, or their first bytes where they have none.

    A file that is named itself is taken whatever it looks like. Hidden directories are left out, and each
    directory is searched once, whichever links lead to it.

    Args:
        places: directories and files that exist.
        bounds: where to end; None for the usual ones.
    """
    search = _Search(bounds or SearchBounds())
    for place in places:
        if place.is_dir():
            search.walk(place)
        else:
            search.images.add(place)
    return Found(
        images=tuple(sorted(search.images)),
        others=search.others,
        unreadable=tuple(search.unreadable),
        complete=search.complete,
    )


def spread_evenly(images: Sequence[Path]) -> tuple[Path, ...]:
    """The same images in an order of which every beginning is an even sample, and the same one each time."""
    return tuple(sorted(images, key=lambda each: hashlib.sha1(os.fsencode(each), usedforsecurity=False).digest()))


class _Search:
    def __init__(self, bounds: SearchBounds) -> None:
        self.images: set[Path] = set()
        self.others = 0
        self.unreadable: list[Path] = []
        self.complete = True
        self._left = bounds.entries
        self._end = time.monotonic() + bounds.seconds
        self._seen: set[tuple[int, int]] = set()

    def walk(self, top: Path) -> None:
        pending = [str(top)]
        while pending:
            directory = pending.pop()
            if not self._is_first(directory):
                continue
            for entry in self._entries(directory):
                if not self._may_go_on():
                    self.complete = False
                    return
                if _is_directory(entry):
                    if not entry.name.startswith(".") and entry.name not in _SKIPPED:
                        pending.append(entry.path)
                else:
                    self._count(entry)

    def _is_first(self, directory: str) -> bool:
        try:
            status = os.stat(directory)  # noqa: PTH116 (hundreds of thousands of paths are not worth as many objects)
        except OSError:
            self.unreadable.append(Path(directory))
            return False
        place = (status.st_dev, status.st_ino)
        first = place not in self._seen
        self._seen.add(place)
        return first

    def _entries(self, directory: str) -> Iterator["os.DirEntry[str]"]:
        try:
            with os.scandir(directory) as entries:
                yield from entries
        except OSError:
            self.unreadable.append(Path(directory))

    def _may_go_on(self) -> bool:
        self._left -= 1
        return self._left >= 0 and time.monotonic() < self._end

    def _count(self, entry: "os.DirEntry[str]") -> None:
        if _is_file(entry) and _looks_like_image(entry):
            self.images.add(Path(entry.path))
        else:
            self.others += 1


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _looks_like_image(entry: "os.DirEntry[str]") -> bool:
    extension = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 (as above)
    return extension in EXTENSIONS if extension else _has_magic(entry.path)


def _has_magic(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 (as above)
            start = stream.read(16)
    except OSError:
        return False
    return start.startswith(_MAGIC) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP")
