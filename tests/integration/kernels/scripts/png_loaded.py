"""Script for one PIL: reads PNG files, whole, truncated and invalid, at once and in pieces; prints a line for each."""

import random
import struct
import sys
import zlib
from collections.abc import Iterator
from itertools import product

from decoded import feed, read  # type: ignore[import-not-found]  # in this directory
from PIL import ImageFile

KINDS = (
    *(("1", 0, 1), ("2", 0, 2), ("4", 0, 4), ("L", 0, 8), ("L16", 0, 16), ("RGB", 2, 8), ("RGB16", 2, 16)),
    *(("LA", 4, 8), ("LA16", 4, 16), ("RGBA", 6, 8), ("RGBA16", 6, 16), ("P", 3, 8), ("P4", 3, 4)),
)
"""Names, colour types and bit depths of PNG."""

SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
SIZES = ((1, 1), (2, 700), (33, 90), (300, 40))
CUTS = 10


def main() -> None:
    """Print the result of reading each file."""
    for name, content in files():
        for accepted in (False, True):
            ImageFile.LOAD_TRUNCATED_IMAGES = accepted
            sys.stdout.write(f"{name} {accepted} {read(content)} {feed(content, 1000)} {feed(content, 77)}\n")


def files() -> Iterator[tuple[str, bytes]]:
    """Yield names and contents."""
    for (name, colour, depth), (width, height) in product(KINDS, SIZES):
        numbers = random.Random(f"{name}{width}")  # noqa: S311 (no secret)
        rows = make_rows(numbers, (width * SAMPLES[colour] * depth + 7) // 8, height)
        packed = zlib.compress(rows, numbers.choice((0, 1, 6, 9)))
        for block in (8192, 700, 1 << 20):
            whole = write(colour, depth, (width, height), packed, block)
            yield f"{name} {width} {block} whole", whole
            for _ in range(CUTS if width * height > 1000 else 3):
                cut = numbers.randrange(33, len(whole))
                yield f"{name} {width} {block} cut {cut}", whole[:cut]
                yield f"{name} {width} {block} changed {cut}", whole[:cut] + b"\x55" + whole[cut + 1 :]
    yield from every_cut()
    yield from wrong_streams()


def every_cut() -> Iterator[tuple[str, bytes]]:
    """Yield two files (rows shorter than a match; long rows), each truncated at every one of its last bytes."""
    for width, height in ((3, 3000), (100, 40)):
        numbers = random.Random(width)  # noqa: S311 (no secret)
        rows = b"".join(
            bytes((numbers.choice((0, 1, 2, 4)), *[numbers.choice((0, 0, 9))] * width)) for _ in range(height)
        )
        whole = write(0, 8, (width, height), zlib.compress(rows), 1 << 20)
        for cut in range(max(40, len(whole) - 700), len(whole)):
            yield f"cut {width} {cut}", whole[:cut]


def wrong_streams() -> Iterator[tuple[str, bytes]]:
    """Yield files whose streams end early or late, have errors at or near row ends, or use unknown filters."""
    width, height = 50, 400
    rows = make_rows(random.Random("wrong"), width, height)  # noqa: S311 (no secret)
    row, empty = width + 1, b"\x00\x00\x00\xff\xff"
    endings = {"nothing": b"", "no code": b"\x07", "far": bytes((0x4B, 0x04, 0xE2, 0x7F)), "end": b"\x03\x00"}
    endings["match of five rows"] = b"\x1a\x05"
    for count, more in product((1, 2, 200, 399, 400), (-1, 0, 1)):
        content = rows[: max(1, count * row + more)]
        checksum = zlib.adler32(content).to_bytes(4, "big")
        raw = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = b"\x78\x9c" + raw.compress(content) + raw.flush(zlib.Z_FULL_FLUSH)
        streams = {
            f"{name} {blocks}": body + empty * blocks + end for name, end in endings.items() for blocks in (0, 300)
        }
        streams["sum"] = body + b"\x03\x00" + checksum
        streams["wrong sum"] = body + b"\x03\x00" + bytes(4)
        streams["more behind"] = streams["sum"] + bytes(2000)
        for (name, stream), block in product(streams.items(), (1 << 20, 600)):
            yield f"rows {count} {more} {name} {block}", write(0, 8, (width, height), stream, block)
    for number in (0, 1, 150, 398, 399):
        wrong = rows[: number * row] + b"\x05" + rows[number * row + 1 :]
        yield f"filter of row {number}", write(0, 8, (width, height), zlib.compress(wrong), 1 << 20)


def make_rows(numbers: random.Random, size: int, height: int) -> bytes:
    """Return flat and noisy rows with all filters."""
    rows = []
    for _ in range(height):
        step = numbers.choice((1, 4, 256))
        rows.append(bytes((numbers.randrange(5), *(numbers.randrange(256) // step for _ in range(size)))))
    return b"".join(rows)


def write(colour: int, depth: int, size: tuple[int, int], packed: bytes, block: int) -> bytes:
    """Return a PNG file of compressed rows, in chunks of `block` bytes."""
    head = struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0)
    chunks = [(b"IHDR", head)]
    if colour == 3:
        chunks.append((b"PLTE", bytes(range(256)) * 3 if depth == 8 else bytes(range(48))))
    chunks += [(b"IDAT", packed[start : start + block]) for start in range(0, len(packed), block)]
    chunks.append((b"IEND", b""))
    written = [
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


if __name__ == "__main__":
    main()
