"""Script for one PIL: prints a digest of the filtered rows of each PNG file that it saves, by picture and setting.

With an argument, writes the files into that directory, and prints their sizes instead.
"""

import hashlib
import io
import sys
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from PIL import Image

SETTINGS = (
    *({"compress_level": level} for level in (0, 1, 2, 3, 6, 9)),
    *({"compress_type": kind} for kind in range(5)),
    *({}, {"optimize": True}, {"dictionary": b"rows"}),
)
SIZES = ((1, 1), (2, 3), (3, 1), (9, 5), (33, 17), (257, 40))
BYTES = {"1": 1, "L": 1, "P": 1, "LA": 2, "I;16": 2, "RGB": 3, "RGBA": 4}


def main() -> None:
    """Print a line for each picture and setting."""
    for (name, picture), options in pictures():
        stream = io.BytesIO()
        picture.save(stream, "PNG", **options)
        packed = b"".join(content for kind, content in chunks(stream.getvalue()) if kind == b"IDAT")
        if len(sys.argv) > 1:
            (Path(sys.argv[1]) / f"{name}.png").write_bytes(stream.getvalue())
            sys.stdout.write(f"{name} {options} {len(packed)}\n")
        else:
            sys.stdout.write(f"{name} {options} {digest(rows(packed))} {digest(rows(in_pieces(picture)))}\n")
    for room in (1, 4, 5) if len(sys.argv) == 1 else ():
        sys.stdout.write(f"rooms of {room} {digest(rows(in_pieces(noise('L', (300, 400)), room)))}\n")


def pictures() -> Iterator[tuple[tuple[str, Image.Image], dict[str, object]]]:
    """Yield named pictures, and the settings with which each is saved."""
    small = [(f"{mode}-{width}", noise(mode, (width, height))) for mode in BYTES for width, height in SIZES]
    yield from product(small, SETTINGS)
    large = [(f"{mode}-of-parts", parts(mode)) for mode in ("RGB", "L", "RGBA")]
    yield from product(large, ({}, {"compress_level": 1}, {"compress_level": 9}, {"optimize": True}))


def noise(mode: str, size: tuple[int, int]) -> Image.Image:
    """Return a picture of slopes with some noise."""
    row = (size[0] + 7) // 8 if mode == "1" else size[0] * BYTES[mode]
    random = hashlib.shake_128(f"{mode}{size}".encode()).digest(row * size[1])
    content = bytes((index // 3 + value % 16) % 256 if value < 240 else value for index, value in enumerate(random))
    return Image.frombytes(mode, size, content)


def parts(mode: str) -> Image.Image:
    """Return a picture whose parts compress differently: a photograph, white, repeated lines, noise."""
    picture = Image.new(mode, (900, 1500), "white")
    photo = noise(mode, (300, 200)).resize((900, 600), Image.Resampling.BICUBIC)
    line = noise(mode, (90, 1)).resize((900, 1))
    picture.paste(photo, (0, 0))
    for y in range(800, 1100, 2):
        picture.paste(line, (y % 7, y))
    picture.paste(noise(mode, (900, 200)), (0, 1200))
    return picture


def chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the content of each chunk."""
    place = 8
    while place < len(file):
        size = int.from_bytes(file[place : place + 4], "big")
        yield file[place + 4 : place + 8], file[place + 8 : place + 8 + size]
        place += 12 + size


def in_pieces(picture: Image.Image, always: int = 0) -> bytes:
    """Compress with small output buffers: each of `always` bytes, or of growing sizes if `always` is 0."""
    mode = {"I;16": "I;16B"}.get(picture.mode, picture.mode)
    encoder = Image._getencoder(picture.mode, "zip", (mode, False, -1, -1, b""))
    encoder.setimage(picture.im, (0, 0, *picture.size))
    room, ended, packed, most = always or 1, 0, bytearray(), 4096 + 16 * picture.width * picture.height
    while not ended and len(packed) < most:
        _, ended, piece = encoder.encode(room)
        packed += piece
        room = always or room % 999 + 7
    return bytes(packed)


def rows(packed: bytes) -> bytes:
    """Return the decompressed rows, using the dictionary if the stream asks for one; empty if the stream is damaged."""
    stream = zlib.decompressobj(zdict=b"rows")
    try:
        content = stream.decompress(packed)
    except zlib.error:
        return b""
    return content if stream.eof and not stream.unused_data else b""


def digest(content: bytes) -> str:
    """Return the first 16 digits of the SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


if __name__ == "__main__":
    main()
