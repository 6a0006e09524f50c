"""Generate photo-like pictures with the target's PIL; called by `_loading.py`, on Python 3.8 or later.

The same PIL generates the same pictures from the same arguments every time.

How hard a picture is to decode depends on how its detail is distributed over scales. In photos every octave adds about
the same contrast (Field, Relations between the statistics of natural images, 1987). The generated pictures therefore
contain noise of every octave, with less of the finest. A picture consists of two fields with sharp edges between them,
and its colour varies more slowly than its brightness.
"""

import os
import random
from typing import Any, Dict, Iterator, List, Tuple

Size = Tuple[int, int]
BILINEAR, BICUBIC = 2, 3
KINDS: Dict[str, Tuple[int, int, Size, float, str, Dict[str, Any]]] = {
    "500px": (24, 500, (500, 375), 0.15, "jpg", {"quality": 90, "subsampling": "4:2:0"}),
    "12mp": (4, 12, (4000, 3000), 0.16, "jpg", {"quality": 92, "subsampling": "4:2:0"}),
    "png": (12, 24, (800, 600), 0.22, "png", {"compress_level": 1}),
}
"""For each kind: count, seed, size, detail, file extension, and options of save().

PNG uses compression level 1, which makes files 5 % larger and is four times as fast.
"""


def write(name: str, directory: str, count: int) -> List[str]:
    """Write `count` pictures of a kind into a directory (0 for the kind's usual number); return the file names."""
    usual, _, _, _, extension, options = KINDS[name]
    names = []
    for number, picture in enumerate(pictures(name, count or usual)):
        names.append("%s-%03d.%s" % (name, number, extension))
        path = os.path.join(directory, names[-1])
        (picture.convert("RGB") if extension == "png" else picture).save(path, **options)
    return names


def pictures(name: str, count: int) -> Iterator[Any]:
    """Yield `count` pictures of a kind.

    Every fourth picture of "500px" is higher than wide. Of every four pictures of "12mp", the last three are mirrored
    or rotated copies of the first.
    """
    _, seed, size, detail, _, _ = KINDS[name]
    numbers = random.Random(seed)
    drawing: Any = None
    for number in range(count):
        if name == "12mp" and number % 4:
            yield drawing.transpose((0, 1, 3)[number % 4 - 1])  # mirrored, upside down, rotated by 180 degrees
            continue
        drawing = photo(numbers, size[::-1] if name == "500px" and number % 4 == 0 else size, detail)
        yield drawing


def photo(numbers: random.Random, size: Size, detail: float) -> Any:
    """Return a picture in YCbCr, as JPEG stores it.

    Args:
        numbers: the random number generator.
        size: width and height, in pixels.
        detail: how much noise each octave adds to the brightness, 0 to 1.
    """
    from PIL import Image

    shapes = outline(numbers, size)
    light = Image.composite(field(numbers, size, detail), field(numbers, size, detail / 3), shapes)
    quarter = (size[0] // 4, size[1] // 4)
    small = shapes.resize(quarter, BILINEAR)
    colours = [Image.composite(tint(numbers, quarter), tint(numbers, quarter), small) for _ in range(2)]
    return Image.merge("YCbCr", [light, *(each.resize(size, BILINEAR) for each in colours)])


def field(numbers: random.Random, size: Size, detail: float) -> Any:
    """Return a brightness channel with detail on every scale."""
    from PIL import Image

    steps = octaves(size)
    image = noise(numbers, steps[0])
    for step in steps[1:]:
        grain = detail / 3 if step == size else detail
        image = Image.blend(image.resize(step, BICUBIC), noise(numbers, step), grain)
    return image


def tint(numbers: random.Random, size: Size) -> Any:
    """Return a colour channel that varies slowly and is rarely saturated."""
    coarse = noise(numbers, octaves(size)[0])
    return coarse.point([128 + (each - 128) // 4 for each in range(256)]).resize(size, BICUBIC)


def octaves(size: Size) -> List[Size]:
    """Return sizes from a few pixels up to the full size, each twice the previous one."""
    sizes = [size]
    while min(sizes[0]) > 6:  # noqa: PLR2004 (coarser than this is one brightness for the whole picture)
        sizes.insert(0, ((sizes[0][0] + 1) // 2, (sizes[0][1] + 1) // 2))
    return sizes


def noise(numbers: random.Random, size: Size) -> Any:
    """Return a grey picture of uniform noise."""
    from PIL import Image

    length = size[0] * size[1]
    return Image.frombytes("L", size, numbers.getrandbits(8 * length).to_bytes(length, "little"))


def outline(numbers: random.Random, size: Size) -> Any:
    """Return a mask of polygons that are alternately white and black, each smaller than the previous one."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", size)
    draw = ImageDraw.Draw(mask)
    for number in range(16):
        x, y = numbers.randrange(size[0]), numbers.randrange(size[1])
        reach = max(size) // (number + 2)
        corners = [(x + numbers.randint(-reach, reach), y + numbers.randint(-reach, reach)) for _ in range(5)]
        draw.polygon(corners, fill=255 * (number % 2 == 0))
    return mask
