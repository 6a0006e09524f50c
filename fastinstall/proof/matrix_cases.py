"""The matrix of a proof: operation x mode x odd size x parameters, as names of cases. `_matrix.py` performs them."""

from collections.abc import Iterator
from itertools import product

MODES = (
    *("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB", "I", "F"),
    *("I;16", "I;16B", "I;16L", "I;16N"),
)
FEW_SIZES = ((1, 1), (1, 9), (19, 1), (5, 4), (24, 7), (35, 13), (3, 131))

_RESAMPLES = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
_RADII = ("0", "0.3", "0.5", "1", "1.7", "2", "3", "3.5", "10")
_PAIRS = ("0.4:5", "3:0", "0:3", "0.3:0", "0:0.6", "2.5:0", "0:1.5", "0:0")
_CHOPS = (
    *("add", "add-scaled", "subtract", "subtract-scaled", "add_modulo", "subtract_modulo", "difference"),
    *("multiply", "screen", "lighter", "darker", "overlay", "soft_light", "hard_light", "invert", "offset"),
    *("logical_and", "logical_or", "logical_xor"),
)
_WIDE = "I;"
"""16-bit modes: `ImageChops.offset` copies half of each of their rows, up to Pillow 12.3; nothing can be expected."""

_MATRIX_TARGETS = ("L", "RGB")
_TABLES = (("3", ""), ("4", "RGBA"), ("3", "RGB"), ("3", "CMYK"))
_ROWS = ("", "RGB", "BGR", "RGBX", "LA", "LA;L", "L", "R")
_PADDED = "600"
"""A stride: bytes from one row to the next, more than the widest of the pictures has."""

_LARGE = "400x300"
"""More than Pillow packs at once, into an array for example."""

_OF_LARGE = ("pack/,0,1", "pack/BGR,0,-1", "unpack/,0,1", "array/", "pickle/", "bitmap/")
_SIMPLE = (
    *("split/", "merge/", "putalpha/", "alpha-composite/", "point/", "histogram/", "getextrema/", "getbbox/"),
    *("getcolors/", "rotate/17,bicubic", "rotate/33,bilinear", "rotate/90,nearest", "median/3", "median/5"),
    *("smallest/3", "largest/3", "most-frequent/3", "blend/0.3", "blend/1.7", "composite/L", "composite/1"),
    *("composite/RGBA", "paste/L", "paste/1", "paste/RGBA", "paste/colour", "paste/outside", "crop/1:0:-1:-1"),
    *("crop/-2:-1:3:2", "thumbnail/4,", "thumbnail/3,2", "unsharp-mask/2,150,3", "unsharp-mask/0.4,90,0"),
    *("alpha-composite/0", "alpha-composite/255", "array/", "pickle/", "bitmap/"),
)


def matrix_cases(*, sizes: tuple[tuple[int, int], ...] = FEW_SIZES, modes: tuple[str, ...] = MODES) -> tuple[str, ...]:
    """Return every case, "operation/mode/WIDTHxHEIGHT/parameters"; modes that an operation refuses are cases too."""
    cases = (
        (mode, f"{width}x{height}", text)
        for mode, (width, height) in product(modes, sizes)
        for text in _list_single_picture_cases(mode, width, height)
    )
    large = product(modes, (_LARGE,), _OF_LARGE)
    return tuple(
        f"{operation}/{mode}/{size}/{parameters}"
        for mode, size, text in (*cases, *large)
        for operation, _, parameters in (text.partition("/"),)
    )


def _list_single_picture_cases(mode: str, width: int, height: int) -> Iterator[str]:
    yield from _list_resizes(width, height)
    yield from _list_reductions(width, height)
    yield from _list_filters()
    yield from (f"getchannel/{band}" for band in range(4))
    yield from (f"convert/{target}" for target in MODES if mode == target or "LAB" not in (mode, target))
    yield from (f"convert-undithered/{target}" for target in ("1", "P"))
    yield from (f"convert-by-matrix/{target}" for target in _MATRIX_TARGETS)
    yield from (f"transpose/{method}" for method in range(7))
    yield from (f"chops/{name}" for name in _CHOPS if name != "offset" or not mode.startswith(_WIDE))
    settings = product(("pack", "unpack"), _ROWS, (("0", "1"), (_PADDED, "-1")))
    yield from (f"{verb}/{rawmode},{stride},{step}" for verb, rawmode, (stride, step) in settings)
    yield from _SIMPLE
    kinds = product(("affine", "perspective", "quad"), ("nearest", "bilinear", "bicubic"))
    yield from (f"transform/{kind},{resample}" for kind, resample in kinds)
    names = product(("color", "contrast", "brightness", "sharpness"), ("0.5", "1.4"))
    yield from (f"enhance-{name}/{factor}" for name, factor in names)
    if mode not in ("1", "P", "PA", "I", "F") and not mode.startswith(_WIDE):
        shapes = product(("2", "3", "2:5:3", "17", "wide"), _TABLES)
        yield from (f"colour-table/{steps},{channels},{target}" for steps, (channels, target) in shapes)


def _list_resizes(width: int, height: int) -> Iterator[str]:
    halves = (f"{width}x{max(1, height // 2)}", f"{max(1, width // 3)}x{height}")
    targets = ("1x1", "3x2", "8x8", "13x40", "70x9", "3x131", *halves)
    for resample, target in product(_RESAMPLES, dict.fromkeys(targets)):
        yield f"resize/{resample},{target}"
    if width > 3 and height > 3:  # noqa: PLR2004 (smaller ones have no such box)
        yield from (f"resize/{resample},9x11,0.7:1.1:{width - 1.3:.1f}:{height - 0.4:.1f}" for resample in _RESAMPLES)


def _list_reductions(width: int, height: int) -> Iterator[str]:
    yield from (f"reduce/{factor}" for factor in range(1, 8))
    pairs = dict.fromkeys(pair for a, b in product(range(1, 8), range(1, 4)) for pair in ((a, b), (b, a)) if a != b)
    yield from (f"reduce/{a}:{b}" for a, b in pairs)
    if width > 4 and height > 4:  # noqa: PLR2004 (smaller ones have no such box)
        yield f"reduce/3,1:1:{width - 1}:{height}"


def _list_filters() -> Iterator[str]:
    settings = (("", "0"), ("3", "17"), ("0.25", "-40"))
    small, large = ("smooth", "sharpen", "edges", "uneven"), ("mean", "slope", "negative")
    yield from (f"filter-3x3/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(small, settings))
    yield from ("filter-3x3/overflow,1,0", "filter-3x3/detail,,0")
    yield from (f"filter-5x5/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(large, settings[:2]))
    yield from (f"box-blur/{radius}" for radius in (*_RADII, *_PAIRS))
    yield from (f"gaussian-blur/{radius}" for radius in (*_RADII, *_PAIRS))
