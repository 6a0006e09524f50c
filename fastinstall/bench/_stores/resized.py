"""Copies of your images whose shorter side has the length that training uses.

    python prepare.py IMAGES OUT

Directories and names stay as they are, so that your loader needs nothing but the other directory:

    torchvision.datasets.ImageFolder("OUT", transform)

JPEG stays JPEG (quality 90, 4:2:0), PNG stays PNG, anything else becomes PNG (`a.webp` becomes `a.webp.png`). What is
small already is copied as it is. An orientation that EXIF tells is kept; transparency is not, nor is it by a loader
that converts to RGB. What is there is not made again, so the same command goes on where it was interrupted.

Random crops can be no finer than these copies: if you train with RandomResizedCrop, set "shorter" below to two or
three times of what you train with, and measure again.
"""

import io
from typing import Any, Dict, Iterator, List

from .files import Encoded, FileReader, make_files
from .pictures import opened, resized
from .preparing import Outcome, Source, content_of

NAME = "resized"
TITLE = "files, resized once"
CAVEAT = "random crops can be no finer than the copies: for those make them two or three times as large"
MODULES = ("PIL",)
BRINGS = ("pillow",)
IN_FILES = True
SETTINGS = ("shorter", "filter")
PRIORITY = 50

JPEG = (".jpg", ".jpeg", ".jpe", ".jfif")
ORIENTATION = 0x0112


def most_bytes(image: Any, wanted: Dict[str, Any]) -> int:
    scale = min(1.0, wanted["shorter"] / max(1, min(image.width, image.height)))
    pixel = 3.4  # bytes that no JPEG of quality 90 and no PNG exceeds: three, and what their headers take
    kept = image.size_bytes if scale == 1.0 else 0
    return max(kept, int(pixel * (image.width * scale + 1) * (image.height * scale + 1)))


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    return make_files(images, out, wanted, (named, encode))


def named(name: str) -> str:
    return name if name.lower().endswith((*JPEG, ".png")) else name + ".png"


def encode(path: str, wanted: Dict[str, Any]) -> Encoded:
    image = opened(path, "RGB", "L")
    small = min(image.size) <= wanted["shorter"]
    if small and named(path) == path:
        content = content_of(path)
    else:
        content = encoded(path, image if small else resized(image, wanted), image)
    return len(content), lambda stream: stream.write(content)


def encoded(path: str, image: Any, original: Any) -> bytes:
    """The bytes of a JPEG or PNG file, with what viewers and loaders need of the original's metadata."""
    stream = io.BytesIO()
    orientation = original.getexif().get(ORIENTATION)
    exif = original.getexif().__class__()
    if orientation:
        exif[ORIENTATION] = orientation
    if path.lower().endswith(JPEG):
        image.save(stream, "JPEG", quality=90, subsampling="4:2:0", exif=exif.tobytes() if orientation else b"")
    else:
        image.save(stream, "PNG")
    return stream.getvalue()


class Reader(FileReader):
    """The copies."""
