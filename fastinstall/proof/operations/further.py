"""Operations on sizes and modes that photos rarely have, and chains of operations from training, to be timed."""

import random
from functools import lru_cache, partial
from typing import Any, Callable, Dict

from . import Calls, Pictures
from .coding import encoded

SIZES = ((640, 480), (3000, 2000), (97, 131), (1, 5000))
MODES = ("LA", "I;16", "I", "F", "P")


def sizing(big: Pictures, _small: Pictures) -> Calls:
    """Return operations that resize, turn, filter and copy, at unusual sizes."""
    from PIL import ImageFilter

    blur, sharpen = ImageFilter.GaussianBlur(2), ImageFilter.SHARPEN
    found: Calls = {}
    for size in SIZES:
        for mode in ("L", "RGB"):
            made = big[mode].resize(size, 3)
            half = (size[0] // 2 or 1, size[1] // 2)
            label = "%s %dx%d" % (mode, size[0], size[1])
            found["resize to half " + label] = partial(made.resize, half, 3)
            found["rotate 90 " + label] = partial(made.transpose, 2)
            found["flip " + label] = partial(made.transpose, 0)
            found["gaussian r2 " + label] = partial(made.filter, blur)
            found["filter 3x3 " + label] = partial(made.filter, sharpen)
            found["copy " + label] = made.copy
    return found


def other_modes(big: Pictures, _small: Pictures) -> Calls:
    """Return operations on masks, depth maps, palette images and 16-bit grey images, all 640 x 480."""
    gray = big["L"].resize(SIZES[0], 3)
    found: Calls = {}
    for mode in MODES:
        made = gray.convert("I").convert(mode) if mode == "I;16" else gray.convert(mode)
        found["resize to half, nearest %s" % mode] = partial(made.resize, (320, 240), 0)
        if mode != "P":
            found["resize to half, bilinear %s" % mode] = partial(made.resize, (320, 240), 2)
        found["rotate 90 %s" % mode] = partial(made.transpose, 2)
        found["flip %s" % mode] = partial(made.transpose, 0)
        found["crop %s" % mode] = partial(made.crop, (33, 21, 501, 400))
        found["rotate 10 %s" % mode] = partial(made.rotate, 10)
    return found


def ranking(big: Pictures, _small: Pictures) -> Calls:
    """Return rank filters on 640 x 480 pixels: median, minimum, maximum, mode."""
    from PIL import ImageFilter

    rgb = big["RGB"].resize(SIZES[0], 3)
    kinds: Dict[str, Any] = {"median 5": ImageFilter.MedianFilter(5), "smallest 3": ImageFilter.MinFilter(3)}
    kinds.update({"largest 5": ImageFilter.MaxFilter(5), "most frequent 3": ImageFilter.ModeFilter(3)})
    return {"%s 640x480" % name: partial(rgb.filter, kind) for name, kind in kinds.items()}


def chaining(big: Pictures, _small: Pictures) -> Calls:
    """Return chains of augmentations as in RandAugment and SimCLR; their random choices are the same in every run."""
    from PIL import ImageEnhance, ImageFilter, ImageOps

    photo = big["RGB"].resize(SIZES[0], 3)

    def augment() -> None:
        """Make the same crop of a photo four times, and apply two random operations of RandAugment to each crop."""
        kinds: Dict[str, Callable[[Any], Any]] = {
            "shear": lambda picture: picture.transform(picture.size, 0, (1, 0.15, 0, 0, 1, 0), 2),
            "rotate": lambda picture: picture.rotate(15, 2),
            "color": lambda picture: ImageEnhance.Color(picture).enhance(1.5),
            "contrast": lambda picture: ImageEnhance.Contrast(picture).enhance(1.5),
            "sharpness": lambda picture: ImageEnhance.Sharpness(picture).enhance(1.5),
            "posterize": lambda picture: ImageOps.posterize(picture, 4),
            "autocontrast": ImageOps.autocontrast,
            "equalize": ImageOps.equalize,
        }
        chosen = random.Random(7)  # noqa: S311 (the same choices in every run)
        for _ in range(4):
            picture = photo.crop((80, 20, 560, 460)).resize((224, 224), 3)
            for name in chosen.sample(sorted(kinds), 2):
                picture = kinds[name](picture)

    def contrast() -> None:
        """Apply SimCLR's crop, flip, colour jitter, grey and blur."""
        picture = photo.resize((224, 224), 3, (80.5, 20.25, 560, 460)).transpose(0)
        for enhancer in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
            picture = enhancer(picture).enhance(1.3)
        picture.convert("L").convert("RGB")
        picture.filter(ImageFilter.GaussianBlur(1.5))

    return {"RandAugment, four crops of 224": augment, "SimCLR, a crop of 224": contrast}


def warping(big: Pictures, _small: Pictures) -> Calls:
    """Return operations that transform and rotate 640 x 480 pixels."""
    rgb = big["RGB"].resize(SIZES[0], 3)
    lens = (0.9, 0.1, 5, -0.05, 0.95, 4, 0.0001, 0.0002)
    return {
        "affine bicubic 640x480": partial(rgb.transform, rgb.size, 0, (0.9, 0.1, 5, -0.1, 0.9, 9), 3),
        "perspective bicubic 640x480": partial(rgb.transform, rgb.size, 2, lens, 3),
        "perspective nearest 640x480": partial(rgb.transform, rgb.size, 2, lens, 0),
        "rotate 10 bilinear 640x480": partial(rgb.rotate, 10, 2),
    }


def saving(big: Pictures, _small: Pictures) -> Calls:
    """Return operations that encode 640 x 480 pixels in several formats."""
    rgb = lru_cache(maxsize=None)(lambda: big["RGB"].resize(SIZES[0], 3))
    return {
        "jpeg encode 640x480": lambda: encoded(rgb(), "JPEG", quality=85),
        "webp encode 640x480": lambda: encoded(rgb(), "WEBP", quality=80, method=2),
        "tiff deflate encode 640x480": lambda: encoded(rgb(), "TIFF", compression="tiff_adobe_deflate"),
        "png encode L 640x480": lambda: encoded(rgb().convert("L"), "PNG"),
    }


PARTS = (sizing, other_modes, ranking, chaining, warping, saving)
