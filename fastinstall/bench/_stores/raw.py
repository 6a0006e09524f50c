"""Your images as a loader hands them over: decoded, resized, cut out, in one array that is mapped into memory.

    python prepare.py IMAGES OUT

Nothing is left to decode. Every image is the same cut each time: flips are possible, random crops are not. Reading:

    from prepare import Reader                 # this file; numpy.load("OUT/images.npy", mmap_mode="r") is the array

    class Photos(torch.utils.data.Dataset):
        def __init__(self):
            self.images = Reader("OUT")

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            label = os.path.dirname(self.images.name(index))
            return torch.from_numpy(self.images.read(index)).permute(2, 0, 1), label

The same command goes on where it was interrupted.
"""

import os
from functools import partial
from typing import Any, Dict, Iterator, List, Tuple

from .originals import Content
from .pictures import in_parallel, opened, resized
from .preparing import Outcome, Source, trouble_of
from .records import Layout, RecordReader, make_records

NAME = "raw"
TITLE = "arrays, resized and cut once"
CAVEAT = "every image is the same cut each time: no random crops"
MODULES = ("numpy",)
BRINGS = ("numpy",)
IN_FILES = False
DECODED = True
SETTINGS = ("shorter", "crop", "filter")
PRIORITY = 1010

FILE = "images.npy"
HEADER = 128  # bytes; source: numpy.lib.format, "Format Version 1.0"


def most_bytes(_image: Any, wanted: Dict[str, Any]) -> int:
    return int(3 * wanted["crop"] * wanted["crop"])


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    if not wanted["crop"]:
        raise ValueError("an array needs images of one size: a crop")
    place = out, Layout(FILE, bare, begin=b" " * HEADER, most=1 << 62)
    try:
        yield from make_records(images, place, wanted, partial(pictures, wanted))
    finally:
        write_header(os.path.join(out, FILE), wanted["crop"])


def bare(_name: str, _content: bytes) -> Tuple[bytes, bytes]:
    return b"", b""


def pictures(wanted: Dict[str, Any], images: List[Source]) -> Iterator[Content]:
    return in_parallel(partial(picture, wanted), images, wanted.get("processes"))


def picture(wanted: Dict[str, Any], source: Source) -> Content:
    name, path = source
    try:
        image, side = resized(opened(path), wanted), wanted["crop"]
        left, top = (image.width - side) // 2, (image.height - side) // 2
        return name, image.crop((left, top, left + side, top + side)).tobytes(), ""
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever is wrong with an image is told)
        return name, b"", trouble_of(error)


def write_header(path: str, side: int) -> None:
    """Say how many images there are, which is known at the end only."""
    if not os.path.exists(path):
        return
    count = (os.path.getsize(path) - HEADER) // (3 * side * side)
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d, 3), }" % (count, side, side)
    start = b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little")
    with open(path, "r+b") as stream:
        stream.write(start + text.encode().ljust(HEADER - len(start) - 1) + b"\n")


class Reader(RecordReader):
    """Arrays of height x width x 3 bytes, each a copy of its own."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._images: Any = None

    def read(self, index: int) -> Any:
        import numpy as np

        if self._images is None:
            self._images = np.load(self.paths[0], mmap_mode="r")
        return np.array(self._images[index])

    def close(self) -> None:
        self._images = None
