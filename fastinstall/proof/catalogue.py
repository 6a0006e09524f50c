"""The names of the matrix's cases: operation x mode x odd size x parameters. Pure; it computes nothing."""

from collections.abc import Iterator
from itertools import product

MODES = (
    "1",
    "L",
    "LA",
    "La",
    "P",
    "PA",
    "RGB",
    "RGBA",
    "RGBa",
    "RGBX",
    "CMYK",
    "YCbCr",
    "HSV",
    "LAB",
    "I",
    "F",
    "I;16",
    "I;16B",
    "I;16L",
    "I;16N",
)
SIZES = (
    (1, 1),
    (2, 3),
    (3, 3),
    (4, 4),
    (5, 5),
    (7, 9),
    (8, 5),
    (17, 13),
    (33, 31),
    (64, 6),
    (127, 3),
    (1, 40),
    (40, 1),
    (3, 131),
)
"""Widths and heights around the kernels' strides of 1, 2, 4, 8 and 16 pixels, and single rows and columns."""

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
_SIMPLE = (
    *("split/", "merge/", "putalpha/", "alpha-composite/", "point/", "histogram/", "getextrema/", "getbbox/"),
    *("getcolors/", "rotate/17,bicubic", "rotate/33,bilinear", "rotate/90,nearest", "median/3", "median/5"),
    *("smallest/3", "largest/3", "most-frequent/3", "blend/0.3", "blend/1.7", "composite/L", "composite/1"),
    *("composite/RGBA", "paste/L", "paste/1", "paste/RGBA", "paste/colour", "paste/outside", "crop/1:0:-1:-1"),
    *("crop/-2:-1:3:2", "thumbnail/4,", "thumbnail/3,2", "unsharp-mask/2,150,3", "unsharp-mask/0.4,90,0"),
)


def matrix_cases(*, sizes: tuple[tuple[int, int], ...] = SIZES, modes: tuple[str, ...] = MODES) -> tuple[str, ...]:
    """Every case, as "operation/mode/WIDTHxHEIGHT/parameters"; modes that an operation refuses are cases too."""
    return tuple(
        f"{operation}/{mode}/{width}x{height}/{parameters}"
        for mode, (width, height) in product(modes, sizes)
        for operation, _, parameters in (text.partition("/") for text in _of_one_picture(mode, width, height))
    )


def operation_of(case: str) -> str:
    """The operation of a case: "resize"."""
    return case.partition("/")[0]


def pixels_of(case: str) -> int:
    """How many pixels the picture has that a case works on; 0 where its name does not tell."""
    width, _, height = case.split("/")[2].partition("x")
    return int(width) * int(height) if width.isdecimal() and height.isdecimal() else 0


def _of_one_picture(mode: str, width: int, height: int) -> Iterator[str]:
    yield from _resizes(width, height)
    yield from _reductions(width, height)
    yield from _filters()
    yield from (f"getchannel/{band}" for band in range(4))
    yield from (f"convert/{target}" for target in MODES if mode == target or "LAB" not in (mode, target))
    yield from (f"convert-undithered/{target}" for target in ("1", "P"))
    yield from (f"convert-by-matrix/{target}" for target in _MATRIX_TARGETS)
    yield from (f"transpose/{method}" for method in range(7))
    yield from (f"chops/{name}" for name in _CHOPS if name != "offset" or not mode.startswith(_WIDE))
    yield from _SIMPLE
    kinds = product(("affine", "perspective", "quad"), ("nearest", "bilinear", "bicubic"))
    yield from (f"transform/{kind},{resample}" for kind, resample in kinds)
    names = product(("color", "contrast", "brightness", "sharpness"), ("0.5", "1.4"))
    yield from (f"enhance-{name}/{factor}" for name, factor in names)
    if mode not in ("1", "P", "PA", "I", "F") and not mode.startswith(_WIDE):
        shapes = product(("2", "3", "2:5:3", "17"), _TABLES)
        yield from (f"colour-table/{steps},{channels},{target}" for steps, (channels, target) in shapes)


def _resizes(width: int, height: int) -> Iterator[str]:
    targets = (
        "1x1",
        "3x2",
        "8x8",
        "13x40",
        "70x9",
        "3x131",
        f"{width}x{max(1, height // 2)}",
        f"{max(1, width // 3)}x{height}",
    )
    for resample, target in product(_RESAMPLES, dict.fromkeys(targets)):
        yield f"resize/{resample},{target}"
    if width > 3 and height > 3:  # noqa: PLR2004 (smaller ones have no such box)
        yield from (f"resize/{resample},9x11,0.7:1.1:{width - 1.3:.1f}:{height - 0.4:.1f}" for resample in _RESAMPLES)


def _reductions(width: int, height: int) -> Iterator[str]:
    yield from (f"reduce/{factor}" for factor in range(1, 8))
    pairs = dict.fromkeys(pair for a, b in product(range(1, 8), range(1, 4)) for pair in ((a, b), (b, a)) if a != b)
    yield from (f"reduce/{a}:{b}" for a, b in pairs)
    if width > 4 and height > 4:  # noqa: PLR2004 (smaller ones have no such box)
        yield f"reduce/3,1:1:{width - 1}:{height}"


def _filters() -> Iterator[str]:
    settings = (("", "0"), ("3", "17"), ("0.25", "-40"))
    small, large = ("smooth", "sharpen", "edges", "uneven"), ("mean", "slope", "negative")
    yield from (f"filter-3x3/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(small, settings))
    yield "filter-3x3/overflow,1,0"
    yield from (f"filter-5x5/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(large, settings[:2]))
    yield from (f"box-blur/{radius}" for radius in (*_RADII, *_PAIRS))
    yield from (f"gaussian-blur/{radius}" for radius in (*_RADII, *_PAIRS))
