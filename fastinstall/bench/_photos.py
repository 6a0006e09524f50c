"""Runs inside a target: generates photo-like pictures with its PIL. Standard library only, Python 3.8 or later.

    python -I -B _photos.py NAME DIRECTORY COUNT [SITE...]

COUNT 0 is the default number. Answers with one line of JSON: the names of the files, or `{"missing": "PIL"}`,
`{"error": TEXT}`. One PIL makes the same pictures from the same arguments every time.

How detail is spread over the scales makes a picture hard to decode. In photos every octave adds about the same
contrast (Field, Relations between the statistics of natural images, 1987). These pictures therefore add noise of each
octave, less of the finest, in two fields with a sharp edge between them, and colour that changes slower than light.
"""

import json
import os
import random
import sys
from typing import Any, Callable, Dict, Iterator, List, Tuple

Size = Tuple[int, int]
BILINEAR, BICUBIC = 2, 3
TURNS = (None, 0, 1, 3)
"""Unchanged, mirrored, upside down, both: one large picture gives four files."""


def main(arguments: List[str]) -> None:
    """Write the pictures; print the names of their files, or why there are none, as JSON."""
    name, directory, count, *site = arguments
    sys.path[:0] = site
    try:
        print(json.dumps({"files": write(name, directory, int(count))}))
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))
    except Exception as error:  # noqa: BLE001 (whatever a codec raises is an answer)
        print(json.dumps({"error": "%s: %s" % (type(error).__name__, error)}))


def write(name: str, directory: str, count: int) -> List[str]:
    """Write `count` pictures of a kind, its usual number for 0; return the names of the files."""
    usual, pictures, form, options = KINDS[name]
    names = []
    for number, picture in enumerate(pictures(count or usual)):
        names.append("%s-%03d.%s" % (name, number, form.lower().replace("jpeg", "jpg")))
        picture.save(os.path.join(directory, names[-1]), form, **options)
    return names


def small_photos(count: int) -> Iterator[Any]:
    """Yield photos of 500 x 375 pixels, every fourth upright."""
    numbers = random.Random(500)
    for number in range(count):
        upright = number % 4 == 0
        yield photo(numbers, (375, 500) if upright else (500, 375), 0.15)


def large_photos(count: int) -> Iterator[Any]:
    """Yield photos of 12 megapixels; one drawing gives four of them."""
    numbers = random.Random(12)
    for number in range(count):
        turn = TURNS[number % len(TURNS)]
        if turn is None:
            made = photo(numbers, (4000, 3000), 0.16)
        yield made if turn is None else made.transpose(turn)


def lossless_photos(count: int) -> Iterator[Any]:
    """Yield photos of 800 x 600 pixels in RGB."""
    numbers = random.Random(24)
    for _ in range(count):
        yield photo(numbers, (800, 600), 0.22).convert("RGB")


def photo(numbers: random.Random, size: Size, detail: float) -> Any:
    """Return a picture in YCbCr, as JPEG stores it.

    Args:
        numbers: the random number generator.
        size: width and height, in pixels.
        detail: the share of each octave in its light, 0 to 1.
    """
    from PIL import Image

    shapes = outline(numbers, size)
    light = Image.composite(field(numbers, size, detail), field(numbers, size, detail / 3), shapes)
    quarter = (size[0] // 4, size[1] // 4)
    small = shapes.resize(quarter, BILINEAR)
    colours = [Image.composite(tint(numbers, quarter), tint(numbers, quarter), small) for _ in range(2)]
    return Image.merge("YCbCr", [light, *(each.resize(size, BILINEAR) for each in colours)])


def field(numbers: random.Random, size: Size, detail: float) -> Any:
    """Return light with detail on every scale."""
    from PIL import Image

    steps = octaves(size)
    image = noise(numbers, steps[0])
    for step in steps[1:]:
        grain = detail / 3 if step == size else detail
        image = Image.blend(image.resize(step, BICUBIC), noise(numbers, step), grain)
    return image


def tint(numbers: random.Random, size: Size) -> Any:
    """Return colour that changes slowly and is rarely strong."""
    coarse = noise(numbers, octaves(size)[0])
    return coarse.point([128 + (each - 128) // 4 for each in range(256)]).resize(size, BICUBIC)


def octaves(size: Size) -> List[Size]:
    """Return sizes that double, from a few pixels to the full size."""
    found = [size]
    while min(found[0]) > 6:  # noqa: PLR2004 (coarser than this is one brightness for the whole picture)
        found.insert(0, ((found[0][0] + 1) // 2, (found[0][1] + 1) // 2))
    return found


def noise(numbers: random.Random, size: Size) -> Any:
    """Return a grey picture of uniform noise."""
    from PIL import Image

    length = size[0] * size[1]
    return Image.frombytes("L", size, numbers.getrandbits(8 * length).to_bytes(length, "little"))


def outline(numbers: random.Random, size: Size) -> Any:
    """Return shapes with sharp edges, white on black: one covers about half of the picture, the others are smaller."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", size)
    draw = ImageDraw.Draw(mask)
    for number in range(16):
        x, y = numbers.randrange(size[0]), numbers.randrange(size[1])
        reach = max(size) // (number + 2)
        corners = [(x + numbers.randint(-reach, reach), y + numbers.randint(-reach, reach)) for _ in range(5)]
        draw.polygon(corners, fill=255 * (number % 2 == 0))
    return mask


Kind = Tuple[int, Callable[[int], Iterator[Any]], str, Dict[str, Any]]
KINDS: Dict[str, Kind] = {
    "500px": (24, small_photos, "JPEG", {"quality": 90, "subsampling": "4:2:0"}),
    "12mp": (4, large_photos, "JPEG", {"quality": 92, "subsampling": "4:2:0"}),
    "png": (12, lossless_photos, "PNG", {"compress_level": 1}),
}
"""By name: count, generator, format, options of save(). PNG level 1: 5 % larger, and four times as fast."""

if __name__ == "__main__":
    main(sys.argv[1:])
