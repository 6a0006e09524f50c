"""Operations that resize and filter, to be timed."""

from functools import partial

from . import FILTERS, Calls, Pictures


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


PARTS = (resizing, filtering)
