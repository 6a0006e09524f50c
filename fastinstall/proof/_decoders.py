"""Write files of many formats, and decode them intact, truncated and damaged; runs inside a target.

Needs only the standard library and PIL, on Python 3.8 or later. The cases are:

- "make//": write one file of every format and variant, and return their bytes;
- "decode-FORMAT/VARIANT/DAMAGE": damage the content of the file FORMAT-VARIANT in the working directory, and decode it;
- "round-trip-FORMAT/VARIANT/": write a file of this format and variant, and decode it.

DAMAGE is one of: "whole" for no damage; "cut:N" to keep the first N thousandths of the file; "flip:SEED:COUNT" to
replace COUNT bytes anywhere; "head:SEED:COUNT" to replace COUNT of the first 64 bytes.
"""

from __future__ import annotations

import hashlib
import io
import random
import struct
import zlib
from typing import Any, Dict, Iterator, List, Tuple

from PIL import Image

Parts = List[Tuple[str, Tuple[int, int], bytes]]
WIDTH, HEIGHT = 61, 37
LARGE = (750, 720)
MOST_FRAMES = 3
HEAD = 64
Image.MAX_IMAGE_PIXELS = 600000
FORMATS: Dict[str, Tuple[str, str, Dict[str, Any]]] = {
    "png/l": ("PNG", "L", {}),
    "png/bits": ("PNG", "1", {}),
    "png/p": ("PNG", "P", {"transparency": 7}),
    "png/rgb": ("PNG", "RGB", {}),
    "png/rgba": ("PNG", "RGBA", {"compress_level": 1}),
    "png/la": ("PNG", "LA", {}),
    "png/16": ("PNG", "I;16", {}),
    "png/large": ("PNG", "RGB", {}),
    "jpeg/l": ("JPEG", "L", {}),
    "jpeg/rgb": ("JPEG", "RGB", {"quality": 90}),
    "jpeg/full": ("JPEG", "RGB", {"quality": 75, "subsampling": 0}),
    "jpeg/progressive": ("JPEG", "RGB", {"progressive": True, "optimize": True}),
    "jpeg/restarts": ("JPEG", "RGB", {"restart_marker_rows": 1}),
    "jpeg/cmyk": ("JPEG", "CMYK", {"quality": 80}),
    "jpeg/large": ("JPEG", "RGB", {"quality": 60}),
    "tiff/raw": ("TIFF", "RGB", {}),
    "tiff/bits": ("TIFF", "1", {}),
    "tiff/float": ("TIFF", "F", {}),
    "tiff/lzw": ("TIFF", "RGB", {"compression": "tiff_lzw"}),
    "tiff/deflate": ("TIFF", "RGBA", {"compression": "tiff_adobe_deflate"}),
    "tiff/packbits": ("TIFF", "L", {"compression": "packbits"}),
    "tiff/group4": ("TIFF", "1", {"compression": "group4"}),
    "tiff/group3": ("TIFF", "1", {"compression": "group3"}),
    "tiff/jpeg": ("TIFF", "RGB", {"compression": "jpeg"}),
    "tiff/lzma": ("TIFF", "RGB", {"compression": "lzma"}),
    "tiff/zstd": ("TIFF", "RGB", {"compression": "zstd"}),
    "tiff/cmyk": ("TIFF", "CMYK", {"compression": "tiff_lzw"}),
    "gif/p": ("GIF", "P", {}),
    "gif/animated": ("GIF", "P", {"save_all": True, "duration": 40, "loop": 0}),
    "webp/lossy": ("WEBP", "RGB", {"quality": 70}),
    "webp/lossless": ("WEBP", "RGBA", {"lossless": True}),
    "bmp/bits": ("BMP", "1", {}),
    "bmp/p": ("BMP", "P", {}),
    "bmp/rgb": ("BMP", "RGB", {}),
    "tga/raw": ("TGA", "RGBA", {}),
    "tga/runs": ("TGA", "RGB", {"compression": "tga_rle"}),
    "ppm/bits": ("PPM", "1", {}),
    "ppm/l": ("PPM", "L", {}),
    "ppm/rgb": ("PPM", "RGB", {}),
    "ppm/16": ("PPM", "I;16", {}),
    "ico/rgba": ("ICO", "RGBA", {"sizes": [(WIDTH, HEIGHT)]}),
    "pcx/p": ("PCX", "P", {}),
    "pcx/rgb": ("PCX", "RGB", {}),
    "sgi/rgb": ("SGI", "RGB", {}),
    "sgi/16": ("SGI", "L", {"bpc": 2}),
    "im/rgb": ("IM", "RGB", {}),
    "msp/bits": ("MSP", "1", {}),
    "dds/rgba": ("DDS", "RGBA", {}),
    "dds/blocks": ("DDS", "RGBA", {"pixel_format": "DXT5"}),
    "jpeg2000/lossless": ("JPEG2000", "RGB", {}),
    "jpeg2000/lossy": ("JPEG2000", "L", {"irreversible": True, "quality_layers": [30]}),
    "avif/rgb": ("AVIF", "RGB", {"quality": 60, "speed": 10, "max_threads": 1}),
    "avif/rgba": ("AVIF", "RGBA", {"quality": 60, "speed": 10, "max_threads": 1}),
}


def perform(name: str) -> Parts:
    """Perform one case.

    Returns:
        Mode, size and samples of each decoded frame, of which there are `MOST_FRAMES` at most. For "make//", name,
        picture size and content of each file.
    """
    if name == "make//":
        return list(files())
    operation, variant, damage = name.split("/")
    verb, _, form = operation.rpartition("-")
    if verb == "decode":
        with open("%s-%s" % (form, variant), "rb") as stream:
            return decoded(damaged(stream.read(), damage, name))
    written = encoded(form + "/" + variant)
    return decoded(written) + ([("filtered rows", (0, 0), filtered_rows(written))] if form == "png" else [])


def files() -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """Yield the name, picture size and content of each file; formats that this PIL cannot write are left out."""
    for key in FORMATS:
        try:
            yield key, (WIDTH, HEIGHT), encoded(key)
        except (KeyError, OSError, RuntimeError, ValueError, struct.error):
            continue


def picture(mode: str, size: Tuple[int, int] = (WIDTH, HEIGHT)) -> Any:
    """Return a picture with slopes, edges and noise, to exercise every encoder.

    The samples are computed without PIL, so that they do not depend on the tested code.
    """
    count = {"1": 1, "L": 1, "P": 1, "LA": 2, "I;16": 2, "RGB": 3}.get(mode, 4)
    width = (size[0] + 7) // 8 if mode == "1" else size[0]
    noise = hashlib.shake_128(mode.encode()).digest(width * size[1] * count)
    steps = range(width * size[1] * count)
    content = bytes(
        (index // count * 3 + index // 700 * 40) % 251 if value < 200 else value for index, value in zip(steps, noise)
    )
    if mode == "F":
        content = bytes(0x42 if index % 4 == 3 else value for index, value in enumerate(content))
    made = Image.frombytes(mode, size, content)
    if mode == "P":
        made.putpalette(hashlib.shake_128(b"palette").digest(768))
    return made


def encoded(key: str) -> bytes:
    """Encode a picture in the format, mode and options of an entry of `FORMATS`; return the bytes of the file."""
    form, mode, options = FORMATS[key]
    first, stream = picture(mode, LARGE if key.endswith("/large") else (WIDTH, HEIGHT)), io.BytesIO()
    if options.get("save_all"):
        options = dict(options, append_images=[first.transpose(0), first.transpose(1)])
    first.save(stream, form, **options)
    return stream.getvalue()


def decoded(content: bytes) -> Parts:
    """Decode a file; return mode, size and samples of each frame, but of `MOST_FRAMES` frames at most."""
    parts: Parts = []
    with Image.open(io.BytesIO(content)) as opened:
        while len(parts) < MOST_FRAMES:
            opened.load()
            parts.append((opened.mode, opened.size, opened.tobytes()))
            try:
                opened.seek(opened.tell() + 1)
            except EOFError:
                break
    return parts


def filtered_rows(content: bytes) -> bytes:
    """Return the filtered rows of a PNG file: its decompressed IDAT chunks."""
    packed, place = b"", 8
    while place < len(content):
        (size,) = struct.unpack(">I", content[place : place + 4])
        if content[place + 4 : place + 8] == b"IDAT":
            packed += content[place + 8 : place + 8 + size]
        place += 12 + size
    return zlib.decompress(packed)


def damaged(content: bytes, damage: str, name: str) -> bytes:
    """Return a file's content with the damage of a case: truncated, or with some bytes replaced.

    The name of the case seeds the random numbers, so that the case can be repeated.
    """
    kind, _, rest = damage.partition(":")
    if kind == "whole":
        return content
    if kind == "cut":
        return content[: len(content) * int(rest) // 1000]
    numbers, found = random.Random(name), bytearray(content)
    reach = min(HEAD, len(found)) if kind == "head" else len(found)
    for _ in range(int(rest.partition(":")[2])):
        found[int(numbers.random() * reach)] = int(numbers.random() * 256)
    return bytes(found)
