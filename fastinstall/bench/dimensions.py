"""Width and height of a JPEG or PNG, from its header alone: nothing is decoded, and no library can be made to fall.

Sources: ITU-T T.81, B.1 (markers) and B.2.2 (frame header); PNG specification, third edition, 11.2.1 (IHDR).
"""

import struct
from pathlib import Path
from typing import BinaryIO

from fastinstall.model.immutable import immutable

_PNG = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
_SEGMENTS = 200


@immutable
class Dimensions:
    """Size of an image.

    Attributes:
        format: "JPEG" or "PNG".
        width: in pixels, as stored.
        height: likewise.
    """

    format: str
    width: int
    height: int

    @property
    def megapixels(self) -> float:
        """Millions of pixels."""
        return self.width * self.height / 1e6


def read_dimensions(path: Path) -> Dimensions | None:
    """What the header says; None for another format, or a file that cannot be read or is no image."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            start = stream.read(24)
            if start[:8] == _PNG and start[12:16] == b"IHDR":
                return _sized("PNG", *struct.unpack(">II", start[16:24]))
            if start[:2] == b"\xff\xd8":
                stream.seek(2)
                return _jpeg(stream)
    except (OSError, struct.error):
        return None
    return None


def _jpeg(stream: BinaryIO) -> Dimensions | None:
    for _ in range(_SEGMENTS):
        marker = _marker(stream)
        if marker is None:
            return None
        if marker in _ALONE:
            continue
        (length,) = struct.unpack(">H", stream.read(2))
        if marker in _FRAMES:
            _, height, width = struct.unpack(">BHH", stream.read(5))
            return _sized("JPEG", width, height)
        stream.seek(length - 2, 1)
    return None


def _marker(stream: BinaryIO) -> int | None:
    if stream.read(1) != b"\xff":
        return None
    code = stream.read(1)
    while code == b"\xff":  # fill bytes
        code = stream.read(1)
    return code[0] if code else None


def _sized(name: str, width: int, height: int) -> Dimensions | None:
    return Dimensions(format=name, width=width, height=height) if width and height else None
