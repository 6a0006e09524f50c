"""Puts images into a store and reads them from there. Runs in the target: Python 3.8 or later.

    python -I -B _storage.py

On stdin the job, a line of JSON:

    {"kind": KIND, "images": [PATH...], "indexes": [I...], "out": DIR, "site": [DIR...], "limit_bytes": N,
     "wanted": {"shorter": 256, "filter": "bilinear", "processes": 2}}

On stdout `{"bytes": N, "skipped": {INDEX: WHY}}`, or `{"missing": MODULE}`,
`{"limit": BYTES}` (it would have needed more), `{"error": TEXT}`. The caller removes what was written.

`_stores/` describes the kinds. This file adds what only a measurement needs: it stops at a limit, and an image in a
store keeps the index that it has among all measured images.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "fastinstall_stores"
KEEP_FREE = 1 << 30
"""Free bytes to leave for other programs; half of a small disk."""
INDEXES = "indexes.json"
"""Beside a store for a measurement: how many images there are, and which of them it holds."""


def main() -> None:
    """Read the job, make the store, and answer with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    sys.path[:0] = job.get("site", [])
    try:
        answer = made(job)
    except LimitReached:
        answer = {"limit": job["limit_bytes"]}
    except Exception as error:  # noqa: BLE001 (whatever goes wrong is an answer)
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


class LimitReached(Exception):
    """The store would exceed its limit."""


def open_store(kind: str, path: str) -> Store:
    """Return a store to read from; its package must be installed, see `missing`."""
    return Store(kind, path)


def missing(kind: str) -> str:
    """Return the missing module that this kind needs; empty if there is none."""
    absent = (each for each in getattr(kind_of(kind), "MODULES", ()) if importlib.util.find_spec(each) is None)
    return next(absent, "")


class Store:
    """Images by their index among all measured images. Pickled by kind and path: every process opens it anew."""

    def __init__(self, kind: str, path: str) -> None:
        self.place = kind, path
        self.reader = kind_of(kind).Reader(path)
        self.count, self.positions = indexes_in(path, self.reader)

    def __reduce__(self) -> Any:
        return Store, self.place

    def __len__(self) -> int:
        return self.count

    def read(self, index: int) -> bytes:
        """Return the bytes of an image's file."""
        found: bytes = self.reader.read(self._find_position(index))
        return found

    def path(self, index: int) -> str:
        """Return the file of an image, in a store with one for each."""
        found: str = self.reader.path(self._find_position(index))
        return found

    def suffix(self, index: int) -> str:
        """Return what separates images read by different code: the extension of the name."""
        position = self.positions.get(index)
        name: str = "" if position is None else self.reader.name(position)
        return os.path.splitext(name)[1].lower()

    def files(self) -> List[str]:
        """Return the files on disk, closed, so that they can be dropped from the page cache."""
        self.reader.close()
        return list(self.reader.paths)

    def _find_position(self, index: int) -> int:
        if index not in self.positions:
            raise IndexError("this image is not in the store")
        return self.positions[index]


def kind_of(name: str) -> Any:
    """Return one of `_stores/`, as a module in its own package, so that it can import its neighbours."""
    if PACKAGE not in sys.modules:
        place = os.path.join(HERE, "_stores")
        spec = importlib.util.spec_from_file_location(
            PACKAGE, os.path.join(place, "__init__.py"), submodule_search_locations=[place]
        )
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
    return importlib.import_module("%s.%s" % (PACKAGE, name))


def made(job: Dict[str, Any]) -> Dict[str, Any]:
    """Make a store; return its size in bytes and the skipped images. Raises LimitReached if it is too large."""
    kind, out, limit = kind_of(job["kind"]), job["out"], job["limit_bytes"]
    absent = missing(job["kind"])
    if absent:
        return {"missing": absent}
    skipped = dict(unstored(kind, job))
    size = sum(os.path.getsize(each) for each in files_below(out))
    if size > limit:
        raise LimitReached
    held = [index for index in job["indexes"] if index not in skipped]
    with open(os.path.join(out, INDEXES), "w", encoding="utf-8") as stream:
        json.dump([len(job["images"]), held], stream)
    return {"bytes": size, "skipped": skipped}


def unstored(kind: Any, job: Dict[str, Any]) -> Iterator[Tuple[int, str]]:
    """Store the images, and yield those that failed."""
    out, limit, written = job["out"], job["limit_bytes"], 0
    disk = os.statvfs(out)
    wanted = {**job["wanted"], "keep_free": min(KEEP_FREE, disk.f_bavail * disk.f_frsize // 2)}
    paths = [(index, job["images"][index]) for index in job["indexes"]]
    named = [("%08d%s" % (index, os.path.splitext(path)[1]), path) for index, path in paths]
    for name, size, trouble in kind.make(named, out, wanted):
        written += size
        if written > limit:
            raise LimitReached
        if trouble:
            yield int(name[:8]), trouble


def files_below(place: str) -> Iterator[str]:
    """Yield the path of every file in a directory and those below it."""
    for directory, _, files in os.walk(place):
        for each in files:
            yield os.path.join(directory, each)


def indexes_in(place: str, reader: Any) -> Tuple[int, Dict[int, int]]:
    """Return how many images are measured, and where each is in the store."""
    path = os.path.join(place, INDEXES)
    count, held = len(reader), list(range(len(reader)))
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            count, held = json.load(stream)
    return count, {index: position for position, index in enumerate(held)}


if __name__ == "__main__":
    main()
