"""Uncompressed copies of your images (BMP): no decompression, but far more to read.

    python prepare.py IMAGES OUT

Check the size first: a photo takes 10 to 20 times as much space as its JPEG. If the copies no longer fit into memory,
the disk replaces the decoder as the bottleneck. BMP cannot store the EXIF orientation, so a loader cannot apply the
orientation. The directories stay the same; `a.jpg` becomes `a.jpg.bmp`:

    torchvision.datasets.ImageFolder("OUT", transform)

Run the same command again to continue after an interruption; existing copies are kept.
"""

import io
from typing import Any, Dict, Iterator, List

from ._files import FileReader, make_files, opened
from ._preparing import Outcome, Source

TITLE = "uncompressed files (BMP)"
CAVEAT = "it takes 10 to 20 times the space of JPEG, so the disk becomes the bottleneck; it has no EXIF orientation"
MODULES = ("PIL",)
BRINGS = ("pillow",)
IN_FILES = True
PRIORITY = 1060


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    return make_files(images, out, wanted, named, encode)


def named(name: str) -> str:
    return name + ".bmp"


def encode(path: str, _wanted: Dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    opened(path).save(stream, "BMP")
    return stream.getvalue()


class Reader(FileReader):
    """Reads the copies."""
