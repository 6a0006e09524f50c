"""Runs inside a target: times operations of one PIL on request. Standard library only, Python 3.8 or later.

    python -I _worker.py [--stage DIR] [--photo FILE]

Reads lines of JSON from stdin, `{"operation": NAME, "seconds": S}`, and answers each with one line,
`{"operation": NAME, "ms": BEST}` or `{"operation": NAME, "error": TEXT}`. The first line it writes
tells which PIL it has. `{"operation": ""}` ends it.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from functools import lru_cache, partial
from typing import Any, Callable, Dict

Pictures = Dict[str, Any]
Calls = Dict[str, Callable[[], Any]]
WIDTH, HEIGHT = 1920, 1080
FEWEST = 2
SMALL = (500, 375)
FILTERS = {"box": 4, "bilinear": 2, "hamming": 5, "bicubic": 3, "lanczos": 1}


def main(arguments: list[str]) -> None:
    options = dict(zip(arguments[::2], arguments[1::2]))
    if "--stage" in options:
        sys.path.insert(0, options["--stage"])
    import PIL
    from PIL import Image

    print(json.dumps({"version": PIL.__version__, "location": PIL.__file__}), flush=True)
    bench = operations(photo(Image, options.get("--photo")))
    for line in sys.stdin:
        request = json.loads(line)
        name = request["operation"]
        if not name:
            return
        print(json.dumps(answer(name, bench, request["seconds"])), flush=True)


def answer(name: str, bench: Calls, seconds: float) -> dict[str, Any]:
    if name == "?":
        return {"operation": name, "names": sorted(bench)}
    if name not in bench:
        return {"operation": name, "error": "not there"}
    try:
        return {"operation": name, "ms": best(bench[name], seconds) * 1000}
    except Exception as error:  # noqa: BLE001 (one operation's failure is an answer)
        return {"operation": name, "error": "%s: %s" % (type(error).__name__, error)}


def best(call: Callable[[], Any], seconds: float) -> float:
    """The shortest of the calls that fit into `seconds`, at least two: the first one may meet cold caches."""
    shortest, calls, start = 1e9, 0, time.perf_counter()
    while calls < FEWEST or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - before)
        calls += 1
    return shortest


def photo(Image: Any, path: str | None) -> Any:  # noqa: N803 (a module's name)
    """A photograph, or what resembles one: smooth colour, edges and grain, the same on every run."""
    if path:
        return Image.open(path).convert("RGB").resize((WIDTH, HEIGHT), 3)
    numbers = random.Random(20)
    coarse = Image.frombytes("RGB", (32, 18), bytes(numbers.getrandbits(8) for _ in range(32 * 18 * 3)))
    grain = Image.frombytes("RGB", (480, 270), bytes(numbers.getrandbits(8) for _ in range(480 * 270 * 3)))
    return Image.blend(coarse.resize((WIDTH, HEIGHT), 3), grain.resize((WIDTH, HEIGHT), 2), 0.12)


def operations(image: Any) -> Calls:
    """Every operation by name, as a call without arguments."""
    from PIL import Image

    big = {mode: image.convert(mode) for mode in ("L", "RGB", "RGBA", "CMYK")}
    big["RGBA"].putalpha(Image.radial_gradient("L").resize(image.size))
    small = {mode: picture.resize(SMALL, 3) for mode, picture in big.items()}
    found: Calls = {}
    for part in (coding, resizing, filtering, converting, combining, adjusting, moving):
        found.update(part(big, small))
    return found


def coding(big: Pictures, small: Pictures) -> Calls:
    jpegs = {"500 px": encoded(small["RGB"], "JPEG", quality=90), "1080p": encoded(big["RGB"], "JPEG", quality=90)}
    png = encoded(small["RGB"], "PNG")
    found: Calls = {
        "png encode": lambda: encoded(small["RGB"], "PNG"),
        "png decode": partial(decode, png),
        "jpeg encode 1080p": lambda: encoded(big["RGB"], "JPEG", quality=90),
        "tobytes": big["RGB"].tobytes,
    }
    for name, data in jpegs.items():
        found["jpeg decode " + name] = partial(decode, data)
        found["decode-256-224 " + name] = partial(pipeline, data)
    return found


def encoded(picture: Any, form: str, **options: int) -> bytes:
    target = io.BytesIO()
    picture.save(target, form, **options)
    return target.getvalue()


def decode(data: bytes) -> None:
    from PIL import Image

    Image.open(io.BytesIO(data)).load()


def pipeline(data: bytes) -> Any:
    """What an image classifier's loader does: decode, shorter side to 256, centre crop of 224."""
    from PIL import Image

    picture = Image.open(io.BytesIO(data))
    scale = 256.0 / min(picture.size)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)), 2)
    left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
    return picture.crop((left, top, left + 224, top + 224))


def resizing(big: Pictures, small: Pictures) -> Calls:
    found: Calls = {}
    for mode in ("L", "RGB", "RGBA"):
        for name, number in FILTERS.items():
            found["resize 1080p-256 %s %s" % (mode, name)] = partial(big[mode].resize, (455, 256), number)
            found["resize 500-800 %s %s" % (mode, name)] = partial(small[mode].resize, (800, 600), number)
        for factor in (2, 4):
            found["reduce(%d) %s" % (factor, mode)] = partial(big[mode].reduce, factor)
    found["thumbnail 256"] = lambda: big["RGB"].copy().thumbnail((256, 256))
    return found


def filtering(big: Pictures, small: Pictures) -> Calls:
    from PIL import ImageFilter

    five = ImageFilter.Kernel((5, 5), [1, 2, 3, 2, 1] * 5, 45)
    found: Calls = {"median 3 RGB": lambda: small["RGB"].filter(ImageFilter.MedianFilter(3))}
    for mode in ("L", "RGB", "RGBA"):
        kinds = {
            "filter 3x3": ImageFilter.SHARPEN,
            "filter 5x5": five,
            "gaussian r2": ImageFilter.GaussianBlur(2),
            "gaussian r5": ImageFilter.GaussianBlur(5),
            "box blur r5": ImageFilter.BoxBlur(5),
            "unsharp mask": ImageFilter.UnsharpMask(2),
        }
        for name, kind in kinds.items():
            found["%s %s" % (name, mode)] = partial(small[mode].filter, kind)
    table = ImageFilter.Color3DLUT.generate(17, lambda r, g, b: (r * r, g * 0.9, b**0.5))
    found["colour LUT 17"] = lambda: big["RGB"].filter(table)
    return found


def converting(big: Pictures, _small: Pictures) -> Calls:
    """What is converted is made when it is first asked for: to choose a palette takes seconds."""
    rgb = big["RGB"]
    made: Calls = {
        "RGB": lambda: rgb,
        "L": lambda: big["L"],
        "RGBA": lambda: big["RGBA"],
        "CMYK": lambda: big["CMYK"],
        "YCbCr": lambda: rgb.convert("YCbCr"),
        "P": lambda: rgb.quantize(64),
        "RGBa": lambda: big["RGBA"].convert("RGBa"),
        "HSV": lambda: rgb.convert("HSV"),
        "I": lambda: big["L"].convert("I"),
    }
    sources = {mode: lru_cache(maxsize=None)(make) for mode, make in made.items()}
    pairs = (
        "RGB L",
        "L RGB",
        "RGB RGBA",
        "RGBA RGB",
        "RGB YCbCr",
        "YCbCr RGB",
        "RGB HSV",
        "HSV RGB",
        "RGB CMYK",
        "CMYK RGB",
        "P RGB",
        "RGBA RGBa",
        "RGBa RGBA",
        "RGB I",
        "RGB F",
        "L F",
        "I L",
        "RGB 1",
    )
    found: Calls = {}
    for pair in pairs:
        source, target = pair.split()
        found["convert %s-%s" % (source, target)] = partial(converted, sources[source], target)
    matrix = (0.41, 0.36, 0.18, 0, 0.21, 0.72, 0.07, 0, 0.02, 0.12, 0.95, 0)
    found["convert RGB by matrix"] = lambda: rgb.convert("RGB", matrix)
    return found


def converted(source: Callable[[], Any], mode: str) -> Any:
    return source().convert(mode)


def combining(big: Pictures, _small: Pictures) -> Calls:
    from PIL import Image, ImageChops

    rgb, rgba, other = big["RGB"], big["RGBA"], big["RGBA"].transpose(0)
    shifted, mask = rgb.transpose(0), rgba.getchannel("A")
    bands = rgb.split()
    found: Calls = {
        "alpha_composite": lambda: Image.alpha_composite(rgba, other),
        "blend": lambda: Image.blend(rgb, shifted, 0.4),
        "composite": lambda: Image.composite(rgb, shifted, mask),
        "paste with mask": lambda: rgb.copy().paste(shifted, (0, 0), mask),
        "split": rgb.split,
        "merge": lambda: Image.merge("RGB", bands),
        "getchannel": lambda: rgb.getchannel("G"),
        "putalpha": lambda: rgba.copy().putalpha(mask),
    }
    for name in ("add", "subtract", "multiply", "screen", "lighter", "difference"):
        found["chops " + name] = partial(getattr(ImageChops, name), rgb, shifted)
    return found


def adjusting(big: Pictures, small: Pictures) -> Calls:
    from PIL import ImageEnhance, ImageOps

    rgb = big["RGB"]
    table = [255 - value for value in range(256)] * 3
    found: Calls = {
        "point": lambda: rgb.point(table),
        "invert": lambda: ImageOps.invert(rgb),
        "autocontrast": lambda: ImageOps.autocontrast(rgb),
        "equalize": lambda: ImageOps.equalize(rgb),
        "histogram": rgb.histogram,
        "getextrema": rgb.getextrema,
        "quantize 64": lambda: small["RGB"].quantize(64),
    }
    for name in ("Color", "Contrast", "Brightness", "Sharpness"):
        found["enhance " + name] = partial(enhanced, getattr(ImageEnhance, name), rgb)
    return found


def enhanced(enhancer: Any, picture: Any) -> Any:
    return enhancer(picture).enhance(1.4)


def moving(big: Pictures, small: Pictures) -> Calls:
    rgb = big["RGB"]
    return {
        "flip": lambda: rgb.transpose(0),
        "rotate 90": lambda: rgb.transpose(2),
        "transpose": lambda: rgb.transpose(5),
        "rotate 10 bicubic": lambda: small["RGB"].rotate(10, 3),
        "affine bilinear": lambda: small["RGB"].transform(SMALL, 0, (0.9, 0.1, 5, -0.1, 0.9, 9), 2),
        "crop": lambda: rgb.crop((100, 100, 1500, 900)),
        "copy": rgb.copy,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
