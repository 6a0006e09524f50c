"""Script for one PIL: prints checksums of the results of kernels that exist for several vector widths.

These kernels are for resizes (many sizes and boxes are tried), for filters, and for multiplying and dividing by alpha.
"""

import itertools
import random
import sys
import zlib
from collections.abc import Iterator

from PIL import Image, ImageFilter

SIZES = ((1, 1), (1, 700), (700, 1), (3, 1000), (17, 129), (63, 257), (129, 33), (1500, 40), (40, 1500), (2000, 90))
MODES = ("L", "LA", "RGB", "RGBA")
FILTERS = [way for way in Image.Resampling if way is not Image.Resampling.NEAREST]
EACH = 2


def main() -> None:
    """Print the checksum of each result."""
    chance = random.Random(32)  # noqa: S311 (the same each time)
    for size, mode, way in itertools.product(SIZES, MODES, FILTERS):
        picture = make_picture(chance, mode, size)
        for _ in range(EACH):
            wanted = choose_length(chance, size[0]), choose_length(chance, size[1])
            box = choose_box(chance, size)
            resized = picture.im.resize(wanted, way, box)
            checksum = zlib.crc32(Image.Image()._new(resized).tobytes())
            sys.stdout.write(f"{mode} {size} {wanted} {box} {way.name} {checksum}\n")
    for size, mode in itertools.product(SIZES, MODES):
        picture = make_picture(chance, mode, size)
        for name, made in list_others(picture):
            sys.stdout.write(f"{mode} {size} {name} {zlib.crc32(made.tobytes())}\n")


def make_picture(chance: random.Random, mode: str, size: tuple[int, int]) -> Image.Image:
    """Return a picture of noise."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, size, chance.randbytes(size[0] * size[1] * bands))


def list_others(picture: Image.Image) -> Iterator[tuple[str, Image.Image]]:
    """Yield named results of filters with floating-point kernels, and of multiplying and dividing by alpha."""
    uneven = ImageFilter.Kernel((5, 5), [(7 * i % 11 - 3) / 7 for i in range(25)], 1.9, 0.25)
    for name, way in {"detail": ImageFilter.DETAIL, "smooth": ImageFilter.SMOOTH_MORE, "uneven": uneven}.items():
        yield name, picture.filter(way)
    premultiplied = {"LA": "La", "RGBA": "RGBa"}.get(picture.mode)
    if premultiplied:
        yield "multiplied", picture.convert(premultiplied)
        yield "divided", picture.convert(premultiplied).convert(picture.mode)


def choose_length(chance: random.Random, length: int) -> int:
    """Return a target length: unchanged, tiny, shorter, or longer."""
    shorter, longer = chance.randint(1, length), chance.randint(length, length + 400)
    return chance.choice((length, chance.randint(1, 3), shorter, longer))


def choose_box(chance: random.Random, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the box of the whole picture, or one that begins between pixels."""
    if chance.random() < 0.5:
        return (0, 0, *size)
    left, top = chance.uniform(0, size[0] * 0.7), chance.uniform(0, size[1] * 0.7)
    return (left, top, chance.uniform(left + 0.1, size[0]), chance.uniform(top + 0.1, size[1]))


if __name__ == "__main__":
    main()
