"""Your images unchanged, in TFRecord files of about 1 GiB: fewer files to open, which suits network disks.

    python prepare.py IMAGES OUT

Each record is a tf.train.Example with "image/filename" and "image/encoded". TensorFlow and DALI read such files from
start to end and shuffle within a memory buffer. With the index beside them, you can read the files in any order,
without TensorFlow:

    from prepare import Reader                 # this file

    class Photos(torch.utils.data.Dataset):
        def __init__(self):
            self.images = Reader("OUT")

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            image = Image.open(io.BytesIO(self.images.read(index))).convert("RGB")
            return transform(image), os.path.dirname(self.images.name(index))

Run the same command again to continue after an interruption. Install numpy for fast checksums.
"""

import importlib.util
import os
from typing import Any, Dict, Iterator, List, Tuple

from .preparing import Outcome, Source
from .records import Layout, RecordReader, make_records

NAME = "tfrecord"
TITLE = "TFRecord files"
CAVEAT = "frameworks read it from start to end: they only shuffle within a memory buffer"
PRIORITY = 1040

LANE = 256  # bytes; lanes are checked in parallel
FEW = 4096  # bytes; below this it is not worth it


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    return make_records(images, (out, Layout("images-{:05d}.tfrecord", frame)), wanted)


class Reader(RecordReader):
    """Reads the original images."""


def frame(name: str, content: bytes) -> Tuple[bytes, bytes]:
    """Return the bytes around an image. Source: "TFRecord and tf.train.Example" of TensorFlow's documentation."""
    prefix = example(os.fsencode(name), len(content))
    length = (len(prefix) + len(content)).to_bytes(8, "little")
    return length + masked(crc32c(length)) + prefix, masked(crc32c(prefix + content))


def example(name: bytes, length: int) -> bytes:
    """Return a tf.train.Example up to the image's bytes, which end it. Source: Protocol Buffers, "Encoding"."""
    first = field(1, len(name)) + name
    last = field(1, length)
    pair = entry(b"image/filename", first, 0) + entry(b"image/encoded", last, length)
    return field(1, len(pair) + length) + pair


def entry(key: bytes, head: bytes, rest: int) -> bytes:
    """Return one pair of the feature map, whose value is a list of bytes; `rest` more bytes follow."""
    feature = field(1, len(head) + rest) + head
    pair = field(1, len(key)) + key + field(2, len(feature) + rest) + feature
    return field(1, len(pair) + rest) + pair


def field(number: int, length: int) -> bytes:
    """Return the start of a field of this length."""
    found = [number << 3 | 2]
    while length >> 7:
        found.append(length & 127 | 128)
        length >>= 7
    return bytes([*found, length])


def masked(checksum: int) -> bytes:
    return (((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def table() -> List[int]:
    """Return each byte's checksum by the Castagnoli polynomial. Source: RFC 3720, appendix B.4."""
    found = list(range(256))
    for _ in range(8):
        found = [each >> 1 ^ 0x82F63B78 * (each & 1) for each in found]
    return found


TABLE = table()
SHIFTS: List[List[int]] = []


def crc32c(data: bytes) -> int:
    found = lanes(data, len(data) // LANE if len(data) > FEW else 0)
    state = 0xFFFFFFFF
    for lane in found:
        state = shifted(state) ^ lane
    for byte in data[len(found) * LANE :]:
        state = TABLE[(state ^ byte) & 255] ^ state >> 8
    return state ^ 0xFFFFFFFF


def lanes(data: bytes, count: int) -> List[int]:
    """Return the checksum of each lane, started with 0, all in parallel; none without numpy."""
    if not count or importlib.util.find_spec("numpy") is None:
        return []
    import numpy as np

    steps = np.array(TABLE, np.uint32)
    rows = np.frombuffer(data, np.uint8, count * LANE).reshape(count, LANE).T.astype(np.uint32)
    state: Any = np.zeros(count, np.uint32)
    for row in rows:
        state = steps[(state ^ row) & 255] ^ state >> 8
    return list(map(int, state))


def shifted(state: int) -> int:
    """Return a checksum after a lane of zeros: the sum of the results for its four bytes."""
    if not SHIFTS:
        SHIFTS.extend([zeros(byte << place) for byte in range(256)] for place in (0, 8, 16, 24))
    return SHIFTS[0][state & 255] ^ SHIFTS[1][state >> 8 & 255] ^ SHIFTS[2][state >> 16 & 255] ^ SHIFTS[3][state >> 24]


def zeros(state: int) -> int:
    for _ in range(LANE):
        state = TABLE[state & 255] ^ state >> 8
    return state
