"""Copies of your images, resized so that the shorter side has the length that training uses.

    python prepare.py IMAGES OUT

Directories and names stay the same, so you only need to change the directory in your loader:

    torchvision.datasets.ImageFolder("OUT", transform)

JPEG stays JPEG (quality 90, 4:2:0), PNG stays PNG, other formats become PNG (`a.webp` becomes `a.webp.png`). JPEG and
PNG files whose shorter side is not longer than requested are copied unchanged. The EXIF orientation is kept, except for
TIFF, to which Pillow applies it on opening. Transparency is lost, as in a loader that converts to RGB. Run the same
command again to continue after an interruption; existing copies are kept.

A random crop cannot show more detail than these copies. If you train with RandomResizedCrop, set "shorter" below to two
or three times the training size, and measure again.
"""

import io
from typing import Any, Dict, Iterator, List

from ._files import FileReader, make_files, opened
from ._preparing import Outcome, Source, content_of

TITLE = "files, resized once"
CAVEAT = "random crops cannot be finer than the copies: make those two or three times as large"
MODULES = ("PIL",)
BRINGS = ("pillow",)
IN_FILES = True
SETTINGS = ("shorter", "filter")
PRIORITY = 50

JPEG = (".jpg", ".jpeg", ".jpe", ".jfif")
ORIENTATION = 0x0112
FILTERS = {"bilinear": 2, "bicubic": 3, "lanczos": 1}


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    return make_files(images, out, wanted, named, encode)


def named(name: str) -> str:
    return name if name.lower().endswith((*JPEG, ".png")) else name + ".png"


def encode(path: str, wanted: Dict[str, Any]) -> bytes:
    """Resize an image and encode it as JPEG or PNG, with its EXIF orientation.

    The bytes of a JPEG or PNG file stay unchanged if its shorter side is not longer than requested.
    """
    image, stream = opened(path, "RGB", "L"), io.BytesIO()
    is_small = min(image.size) <= wanted["shorter"]
    if is_small and named(path) == path:
        return content_of(path)
    exif, orientation = image.getexif().__class__(), image.getexif().get(ORIENTATION)
    if orientation:
        exif[ORIENTATION] = orientation
    if not is_small:
        scale = wanted["shorter"] / min(image.size)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, FILTERS[wanted["filter"]])
    options = {"exif": exif.tobytes() if orientation else b""}
    if path.lower().endswith(JPEG):
        image.save(stream, "JPEG", quality=90, subsampling="4:2:0", **options)
    else:
        image.save(stream, "PNG", **options)
    return stream.getvalue()


class Reader(FileReader):
    """Reads the copies."""
