"""Code that all stores share: find the images, report progress, write files atomically, keep disk space free."""

import errno
import json
import os
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

Source = Tuple[str, str]  # name in the store, path of the image
Content = Tuple[str, bytes, str]  # name, content to store, error (empty if none)
Outcome = Tuple[str, int, str]  # name, bytes written, error (empty if none)

SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
KEEP_FREE = 1 << 30  # bytes of disk space to leave free


def main(make: Callable[[List[Source], str, Dict[str, Any]], Iterator[Outcome]], wanted: Dict[str, Any]) -> None:
    if len(sys.argv) != 3:  # noqa: PLR2004 (the script, IMAGES and OUT)
        sys.exit("usage: python %s IMAGES OUT" % sys.argv[0])
    _, place, out = sys.argv
    images = images_below(place)
    if not images:
        sys.exit("%s: it contains no images" % place)
    if (os.path.realpath(out) + os.sep).startswith(os.path.realpath(place) + os.sep):
        sys.exit("%s is inside %s: choose a directory outside it" % (out, place))
    left_out, reported = 0, time.monotonic()
    try:
        claim(out, wanted)
        for done, (name, _, trouble) in enumerate(make(images, out, wanted), 1):
            if trouble:
                left_out += 1
                print("left out: %s: %s" % (name, trouble), file=sys.stderr)
            if time.monotonic() - reported > 1:
                reported = time.monotonic()
                print("%d of %d" % (done, len(images)), file=sys.stderr)
    except ImportError as error:
        package = {"PIL": "pillow"}.get(str(error.name), error.name)
        sys.exit("%s: %s -m pip install %s" % (error, sys.executable, package))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (any problem is reported)
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else trouble_of(error)
        sys.exit("\n%s: run the same command to continue" % reason)
    print("%d images in %s, %d left out" % (len(images) - left_out, out, left_out))
    sys.exit(left_out == len(images))


def images_below(place: str) -> List[Source]:
    """Return name (relative path) and path of each image below a directory, sorted; skip hidden directories."""
    sources: List[Source] = []
    seen: Set[str] = set()
    for directory, inner, files in os.walk(place, followlinks=True):
        here = os.path.realpath(directory)
        inner[:] = [] if here in seen else sorted(each for each in inner if not each.startswith("."))
        for file in files if here not in seen else ():
            if file.lower().endswith(SUFFIXES):
                path = os.path.join(directory, file)
                sources.append((os.path.relpath(path, place), path))
        seen.add(here)
    return sorted(sources)


def claim(out: str, wanted: Dict[str, Any]) -> None:
    """Mark the directory `out` with the settings; exit if it has files but no mark, or a mark with other settings."""
    mark = os.path.join(out, "prepared.json")
    os.makedirs(out, exist_ok=True)
    if not os.path.exists(mark):
        if os.listdir(out):
            sys.exit("%s is not empty, and this script did not make it" % out)
        write_file(mark, json.dumps(wanted).encode())
    before = json.loads(content_of(mark))
    if before != wanted:
        sys.exit("%s was made with %s, not %s" % (out, before, wanted))


def originals(images: List[Source]) -> Iterator[Content]:
    """Yield the name and the unchanged bytes of each image, or the error if the image cannot be read."""
    for name, path in images:
        try:
            yield name, content_of(path), ""
        except OSError as error:
            yield name, b"", trouble_of(error)


def content_of(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def leave_room(place: str, count: int, wanted: Dict[str, Any]) -> None:
    """Raise OSError if writing `count` bytes would leave too little free disk space."""
    disk = os.statvfs(place)
    if disk.f_bavail * disk.f_frsize - count < wanted.get("keep_free", KEEP_FREE):
        raise OSError(errno.ENOSPC, "it would leave too little free disk space", place)


def write_file(path: str, content: bytes) -> None:
    """Write a file completely or not at all."""
    fresh = path + ".partial"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(fresh, "wb") as stream:
        stream.write(content)
    os.replace(fresh, path)


def trouble_of(error: BaseException) -> str:
    return "%s: %s" % (type(error).__name__, error)
