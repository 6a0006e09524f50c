"""Puts images into a store and reads them from there. Runs in the target: Python 3.8 or later.

    python -I -B _storage.py

On stdin the job, a line of JSON:

    {"kind": KIND, "images": [PATH...], "out": DIR, "site": [DIR...], "limit_bytes": N,
     "wanted": {"shorter": 256, "filter": "bilinear"}}

On stdout `{"bytes": N, "held": [INDEX...], "skipped": [WHY...]}`, or `{"missing": MODULE}`, `{"error": TEXT}`. The
caller removes what was written.

`_stores/` describes the kinds. This file adds what only a measurement needs: it stops soon after a limit, and the name
of an image in a store begins with the index that it has among all measured images.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from typing import Any, Dict, List

HERE = os.path.dirname(os.path.abspath(__file__))
KEEP_FREE = 1 << 30
"""Free bytes to leave for other programs; half of a small disk."""
DIGITS = 8
"""Of the index that a name begins with."""


def main() -> None:
    """Read the job, make the store, and answer with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    sys.path[:0] = job.get("site", [])
    try:
        answer = made(job)
    except Exception as error:  # noqa: BLE001 (whatever goes wrong is an answer)
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def missing(kind: str) -> str:
    """Return the missing module that this kind needs; empty if there is none."""
    absent = (
        each for each in getattr(member("_stores", kind), "MODULES", ()) if importlib.util.find_spec(each) is None
    )
    return next(absent, "")


class Store:
    """Images by their index among all measured images; the kind's package must be installed, see `missing`.

    Pickled by kind and path: every process opens it anew.
    """

    def __init__(self, kind: str, path: str) -> None:
        self.place = kind, path
        self.reader = member("_stores", kind).Reader(path)
        self.positions = {index: position for position, index in enumerate(held(self.reader))}

    def __reduce__(self) -> Any:
        return Store, self.place

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


def member(folder: str, name: str) -> Any:
    """Return a file of a folder beside this one, as a module of a package, so that it can import its neighbours."""
    package = "fastinstall_" + folder.strip("_")
    if package not in sys.modules:
        place = os.path.join(HERE, folder)
        start = os.path.join(place, "__init__.py")
        spec = importlib.util.spec_from_file_location(package, start, submodule_search_locations=[place])
        sys.modules[package] = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
    return importlib.import_module("%s.%s" % (package, name))


def made(job: Dict[str, Any]) -> Dict[str, Any]:
    """Make a store; return its size in bytes, the images in it, and why others were left out."""
    absent = missing(job["kind"])
    if absent:
        return {"missing": absent}
    kind, out, written, skipped = member("_stores", job["kind"]), job["out"], 0, []
    disk = os.statvfs(out)
    wanted = {**job["wanted"], "keep_free": min(KEEP_FREE, disk.f_bavail * disk.f_frsize // 2)}
    numbered = enumerate(job["images"])
    images = [("%0*d%s" % (DIGITS, index, os.path.splitext(path)[1]), path) for index, path in numbered]
    outcomes = kind.make(images, out, wanted)
    for _, size, trouble in outcomes:
        written += size
        if trouble:
            skipped.append(trouble)
        if written > job["limit_bytes"]:
            break
    outcomes.close()
    size = sum(os.path.getsize(os.path.join(place, each)) for place, _, names in os.walk(out) for each in names)
    return {"bytes": size, "held": held(kind.Reader(out)), "skipped": skipped}


if __name__ == "__main__":
    main()
