"""Operations that resize, filter, change, move, combine or draw pictures, to be timed."""

from functools import lru_cache, partial
from typing import Any, Callable

from . import FILTERS, HEIGHT, SMALL, WIDTH, Calls, Pictures


def resizing(big: Pictures, small: Pictures) -> Calls:
    """Return operations that resize with each filter, reduce, and make thumbnails."""
    found: Calls = {}
    for mode in ("L", "RGB", "RGBA"):
        for name, number in FILTERS.items():
            found["resize 1080p-256 %s %s" % (mode, name)] = partial(big[mode].resize, (455, 256), number)
            found["resize 500-800 %s %s" % (mode, name)] = partial(small[mode].resize, (800, 600), number)
        for factor in (2, 4):
            found["reduce(%d) %s" % (factor, mode)] = partial(big[mode].reduce, factor)
        found["reduce(20) %s" % mode] = partial(big[mode].reduce, 20)
    box = (211.5, 97.25, 1400.75, 1003.5)
    for name in ("bilinear", "bicubic"):
        found["random resized crop 224 " + name] = partial(big["RGB"].resize, (224, 224), FILTERS[name], box)
    found["resize 1080p-256 bilinear, reducing gap 2"] = partial(
        big["RGB"].resize, (455, 256), FILTERS["bilinear"], reducing_gap=2.0
    )
    found["resize 1080p-256 nearest"] = partial(big["RGB"].resize, (455, 256), 0)
    for side in (256, 32):
        found["thumbnail %d" % side] = partial(lambda side: big["RGB"].copy().thumbnail((side, side)), side)
    return found


def filtering(big: Pictures, small: Pictures) -> Calls:
    """Return operations that blur, sharpen, convolve, or map colours by a table."""
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


def combining(big: Pictures, _small: Pictures) -> Calls:
    """Return operations that combine pictures and bands."""
    from PIL import Image, ImageChops

    rgb, rgba, other = big["RGB"], big["RGBA"], big["RGBA"].transpose(0)
    shifted, mask = rgb.transpose(0), rgba.getchannel("A")
    bands = rgb.split()
    found: Calls = {
        "alpha_composite": lambda: Image.alpha_composite(rgba, other),
        "blend": lambda: Image.blend(rgb, shifted, 0.4),
        "composite": lambda: Image.composite(rgb, shifted, mask),
        "paste with mask": lambda: rgb.copy().paste(shifted, (0, 0), mask),
        "paste RGBA by its alpha": lambda: rgb.copy().paste(rgba, (0, 0), rgba),
        "fill with mask": lambda: rgb.copy().paste((255, 120, 9), None, mask),
        "split": rgb.split,
        "merge": lambda: Image.merge("RGB", bands),
        "getchannel": lambda: rgb.getchannel("G"),
        "putalpha": lambda: rgba.copy().putalpha(mask),
    }
    for name in ("add", "subtract", "multiply", "screen", "lighter", "difference"):
        found["chops " + name] = partial(getattr(ImageChops, name), rgb, shifted)
    return found


def moving(big: Pictures, small: Pictures) -> Calls:
    """Return operations that flip, rotate, transform, crop and copy."""
    rgb = big["RGB"]
    return {
        "flip": lambda: rgb.transpose(0),
        "flip upside down": lambda: rgb.transpose(1),
        "rotate 90": lambda: rgb.transpose(2),
        "transpose": lambda: rgb.transpose(5),
        "rotate 10 bicubic": lambda: small["RGB"].rotate(10, 3),
        "affine bilinear": lambda: small["RGB"].transform(SMALL, 0, (0.9, 0.1, 5, -0.1, 0.9, 9), 2),
        "perspective bilinear": lambda: small["RGB"].transform(
            SMALL, 2, (0.9, 0.1, 5, -0.05, 0.95, 4, 0.0001, 0.0002), 2
        ),
        "rotate 10 nearest": lambda: small["RGB"].rotate(10),
        "crop": lambda: rgb.crop((100, 100, 1500, 900)),
        "copy": rgb.copy,
    }


def drawing(big: Pictures, small: Pictures) -> Calls:
    """Return operations that draw labels, boxes and frames."""
    from PIL import Image, ImageDraw, ImageOps

    def labelled() -> None:
        canvas = small["RGB"].copy()
        pen = ImageDraw.Draw(canvas)
        pen.rectangle((40, 30, 300, 200), outline=(255, 0, 0), width=3)
        pen.ellipse((320, 40, 460, 200), fill=(0, 120, 255))
        pen.text((50, 210), "a label, and another one", fill=(255, 255, 255))

    return {
        "draw boxes and text": labelled,
        "new": lambda: Image.new("RGB", (WIDTH, HEIGHT), (10, 20, 30)),
        "expand by a frame": lambda: ImageOps.expand(small["RGB"], 16),
        "pad to a square": lambda: ImageOps.pad(small["RGB"], (512, 512)),
        "fit 224": lambda: ImageOps.fit(big["RGB"], (224, 224)),
    }


def crossing(big: Pictures, small: Pictures) -> Calls:
    """Return operations that make pictures from bytes and buffers and, if numpy is installed, from and to arrays."""
    from PIL import Image

    data, size = small["RGB"].tobytes(), small["RGB"].size
    found: Calls = {
        "frombytes": lambda: Image.frombytes("RGB", size, data),
        "frombuffer": lambda: Image.frombuffer("RGB", size, data, "raw", "RGB", 0, 1),
    }
    try:
        import numpy as np
    except ImportError:
        return found
    made = np.asarray(small["RGB"])
    found["numpy asarray 1080p"] = lambda: np.asarray(big["RGB"])
    found["numpy fromarray"] = lambda: Image.fromarray(made)
    return found


PARTS = (resizing, filtering, converting, adjusting, combining, moving, drawing, crossing)
