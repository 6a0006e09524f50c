"""What all of these scripts do: find the images, tell how it goes, write whole files, leave room on the disk."""

import errno
import json
import os
import sys
import time
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Set, Tuple

Source = Tuple[str, str]  # its name in the store, its file
Content = Tuple[str, bytes, str]  # the name, what is stored, why it is left out
Outcome = Tuple[str, int, str]  # the name, the bytes that were written, why it was left out

SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
KEEP_FREE = 1 << 30  # bytes of the disk that are left free
MARK = "prepared.json"


def main(make: Callable[[List[Source], str, Dict[str, Any]], Iterator[Outcome]], wanted: Dict[str, Any]) -> None:
    images, out = asked_for(sys.argv)
    try:
        claim(out, wanted)
        left_out = report(make(images, out, wanted), len(images))
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: the same command goes on from here")
    except ImportError as error:
        package = {"PIL": "pillow"}.get(str(error.name), error.name)
        sys.exit("%s: %s -m pip install %s" % (error, sys.executable, package))
    except (FileExistsError, ValueError) as error:
        sys.exit(str(error))
    except Exception as error:  # noqa: BLE001 (whatever went wrong is told)
        sys.exit("\n%s\nthe same command goes on from here" % trouble_of(error))
    print("%d images in %s, %d left out" % (len(images) - left_out, out, left_out))
    sys.exit(left_out == len(images))


def asked_for(arguments: List[str]) -> Tuple[List[Source], str]:
    """The images, and the directory that they are to be put into."""
    if len(arguments) != 3:  # noqa: PLR2004 (the script, IMAGES and OUT)
        sys.exit("usage: python %s IMAGES OUT" % arguments[0])
    _, place, out = arguments
    images = images_below(place)
    if not images:
        sys.exit("%s: no images below it" % place)
    if (os.path.realpath(out) + os.sep).startswith(os.path.realpath(place) + os.sep):
        sys.exit("%s lies in %s: choose a directory outside of it" % (out, place))
    return images, out


def images_below(place: str) -> List[Source]:
    """Every image: the path from there, which becomes its name, and its file; hidden directories are left out."""
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
    """Begin a directory, or go on with one that was begun by the same script; any other is left alone."""
    mark = os.path.join(out, MARK)
    os.makedirs(out, exist_ok=True)
    if os.path.exists(mark):
        with open(mark, encoding="utf-8") as stream:
            made = json.load(stream)
        if made != wanted:
            raise FileExistsError("%s was made with %s, not %s" % (out, made, wanted))
    elif os.listdir(out):
        raise FileExistsError("%s is not empty, and was not made by this script" % out)
    else:
        write_file(mark, lambda stream: stream.write(json.dumps(wanted).encode()))


def report(outcomes: Iterator[Outcome], count: int) -> int:
    """Tell how it goes, every second; how many were left out."""
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
    """Images as they are: the bytes of their files."""
    for name, path in images:
        try:
            yield name, content_of(path), ""
        except OSError as error:
            yield name, b"", trouble_of(error)


def content_of(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def leave_room(place: str, count: int, wanted: Dict[str, Any]) -> None:
    """Raise if writing so many bytes would leave too few free."""
    disk = os.statvfs(place)
    if disk.f_bavail * disk.f_frsize - count < wanted.get("keep_free", KEEP_FREE):
        raise OSError(errno.ENOSPC, "too little would stay free on the disk", place)


def write_file(path: str, write: Callable[[BinaryIO], Any]) -> None:
    """A file that is there whole or not at all."""
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
