"""Operations on modes, colours and levels, to be timed."""

from functools import lru_cache, partial
from typing import Any, Callable

from . import Calls, Pictures


def converting(big: Pictures, _small: Pictures) -> Calls:
    """Return conversions between modes; source pictures are made at first use, because some take long to make."""
    rgb = big["RGB"]
    made: Calls = {
        **{mode: partial(big.get, mode) for mode in big},
        "YCbCr": lambda: rgb.convert("YCbCr"),
        "P": lambda: rgb.quantize(64),
        "RGBa": lambda: big["RGBA"].convert("RGBa"),
        "HSV": lambda: rgb.convert("HSV"),
        "I": lambda: big["L"].convert("I"),
    }
    sources = {mode: lru_cache(maxsize=None)(make) for mode, make in made.items()}
    pairs = (
        *("RGB L", "L RGB", "RGB RGBA", "RGBA RGB", "RGB YCbCr", "YCbCr RGB", "RGB HSV", "HSV RGB", "RGB CMYK"),
        *("CMYK RGB", "P RGB", "RGBA RGBa", "RGBa RGBA", "RGB I", "RGB F", "L F", "I L", "RGB 1"),
    )
    found: Calls = {}
    for pair in pairs:
        source, target = pair.split()
        found["convert %s-%s" % (source, target)] = partial(converted, sources[source], target)
    matrix = (0.41, 0.36, 0.18, 0, 0.21, 0.72, 0.07, 0, 0.02, 0.12, 0.95, 0)
    found["convert RGB by matrix"] = lambda: rgb.convert("RGB", matrix)
    return found


def converted(source: Callable[[], Any], mode: str) -> Any:
    """Convert the picture that `source` returns."""
    return source().convert(mode)


def adjusting(big: Pictures, small: Pictures) -> Calls:
    """Return operations that change or count colours and levels."""
    from PIL import ImageEnhance, ImageOps

    rgb = big["RGB"]
    table = [int(255 * (value / 255) ** 0.7) for value in range(256)]
    tables = [int(255 * (value / 255) ** power) for power in (0.7, 0.8, 1.2) for value in range(256)]
    found: Calls = {
        "point": lambda: rgb.point(table * 3),
        "point of three tables": lambda: rgb.point(tables),
        "point L": lambda: big["L"].point(table),
        "invert by a table": lambda: rgb.point([255 - value for value in range(256)] * 3),
        "invert": lambda: ImageOps.invert(rgb),
        "autocontrast": lambda: ImageOps.autocontrast(rgb),
        "equalize": lambda: ImageOps.equalize(rgb),
        "posterize": lambda: ImageOps.posterize(rgb, 4),
        "solarize": lambda: ImageOps.solarize(rgb, 128),
        "grayscale to RGB": lambda: ImageOps.grayscale(rgb).convert("RGB"),
        "shift of hue": lambda: shifted_hue(small["RGB"]),
        "histogram": rgb.histogram,
        "getextrema": rgb.getextrema,
        "getextrema L": big["L"].getextrema,
        "getcolors": lambda: small["RGB"].getcolors(1 << 24),
        "quantize 64": lambda: small["RGB"].quantize(64),
    }
    for name in ("Color", "Contrast", "Brightness", "Sharpness"):
        found["enhance " + name] = partial(enhanced, getattr(ImageEnhance, name), rgb)
    return found


def enhanced(enhancer: Any, picture: Any) -> Any:
    """Enhance a picture by a factor of 1.4."""
    return enhancer(picture).enhance(1.4)


def shifted_hue(picture: Any) -> Any:
    """Change the colours of a picture as torchvision's ColorJitter does."""
    from PIL import Image

    hue, saturation, value = picture.convert("HSV").split()
    return Image.merge("HSV", (hue.point(lambda level: (level + 20) % 256), saturation, value)).convert("RGB")


PARTS = (converting, adjusting)
