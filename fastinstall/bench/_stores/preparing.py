"""What all of these scripts share: find the images, report progress, write complete files, leave free disk space."""

import errno
import json
import os
import sys
import time
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Set, Tuple

Source = Tuple[str, str]  # its name in the store, its file
Content = Tuple[str, bytes, str]  # the name, what is stored, why it is left out
Outcome = Tuple[str, int, str]  # the name, the bytes written, why it was left out

SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
KEEP_FREE = 1 << 30  # bytes of disk space to leave free
MARK = "prepared.json"


def main(make: Callable[[List[Source], str, Dict[str, Any]], Iterator[Outcome]], wanted: Dict[str, Any]) -> None:
    images, out = asked_for(sys.argv)
    try:
        claim(out, wanted)
        left_out = report(make(images, out, wanted), len(images))
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command to continue")
    except ImportError as error:
        package = {"PIL": "pillow"}.get(str(error.name), error.name)
        sys.exit("%s: %s -m pip install %s" % (error, sys.executable, package))
    except (FileExistsError, ValueError) as error:
        sys.exit(str(error))
    except Exception as error:  # noqa: BLE001 (any problem is reported)
        sys.exit("\n%s\nrun the same command to continue" % trouble_of(error))
    print("%d images in %s, %d left out" % (len(images) - left_out, out, left_out))
    sys.exit(left_out == len(images))


def asked_for(arguments: List[str]) -> Tuple[List[Source], str]:
    """Return the images, and the directory for the result."""
    if len(arguments) != 3:  # noqa: PLR2004 (the script, IMAGES and OUT)
        sys.exit("usage: python %s IMAGES OUT" % arguments[0])
    _, place, out = arguments
    images = images_below(place)
    if not images:
        sys.exit("%s: it contains no images" % place)
    if (os.path.realpath(out) + os.sep).startswith(os.path.realpath(place) + os.sep):
        sys.exit("%s is inside %s: choose a directory outside it" % (out, place))
    return images, out


def images_below(place: str) -> List[Source]:
    """Return every image: its relative path, which becomes its name, and its file; hidden directories are skipped."""
    found: List[Source] = []
    seen: Set[str] = set()
    for directory, inner, files in os.walk(place, followlinks=True):
        here = os.path.realpath(directory)
        inner[:] = [] if here in seen else sorted(each for each in inner if not each.startswith("."))
        if here not in seen:
            paths = [os.path.join(directory, each) for each in files if each.lower().endswith(SUFFIXES)]
            found.extend((os.path.relpath(each, place), each) for each in paths)
        seen.add(here)
    return sorted(found)


def claim(out: str, wanted: Dict[str, Any]) -> None:
    """Start a directory, or continue one that the same script started; leave any other alone."""
    mark = os.path.join(out, MARK)
    os.makedirs(out, exist_ok=True)
    if os.path.exists(mark):
        with open(mark, encoding="utf-8") as stream:
            made = json.load(stream)
        if made != wanted:
            raise FileExistsError("%s was made with %s, not %s" % (out, made, wanted))
    elif os.listdir(out):
        raise FileExistsError("%s is not empty, and this script did not make it" % out)
    else:
        write_file(mark, lambda stream: stream.write(json.dumps(wanted).encode()))


def report(outcomes: Iterator[Outcome], count: int) -> int:
    """Report progress every second; return how many images were left out."""
    left_out, told = 0, time.monotonic()
    for done, (name, _, trouble) in enumerate(outcomes, 1):
        if trouble:
            left_out += 1
            print("left out: %s: %s" % (name, trouble), file=sys.stderr)
        if time.monotonic() - told > 1:
            told = time.monotonic()
            print("%d of %d" % (done, count), file=sys.stderr)
    return left_out


def originals(images: List[Source]) -> Iterator[Content]:
    """Yield the unchanged images: the bytes of their files."""
    for name, path in images:
        try:
            yield name, content_of(path), ""
        except OSError as error:
            yield name, b"", trouble_of(error)


def content_of(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def leave_room(place: str, count: int, wanted: Dict[str, Any]) -> None:
    """Raise if writing so many bytes would leave too little free space."""
    disk = os.statvfs(place)
    if disk.f_bavail * disk.f_frsize - count < wanted.get("keep_free", KEEP_FREE):
        raise OSError(errno.ENOSPC, "it would leave too little free disk space", place)


def write_file(path: str, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file completely or not at all."""
    fresh = path + ".partial"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(fresh, "wb") as stream:
            write(stream)
        os.replace(fresh, path)
    except BaseException:
        if os.path.exists(fresh):
            os.unlink(fresh)
        raise


def trouble_of(error: Exception) -> str:
    return "%s: %s" % (type(error).__name__, error)
