"""List the names of the cases of a proof's matrix: operation x mode x size x parameters. `_matrix.py` performs them.

Most cases are ordinary uses. Others have unusual arguments, or arguments that Pillow refuses: then a build with kernels
must raise the same exception, with the same text.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType

MODES = (
    *("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB", "I", "F"),
    *("I;16", "I;16B", "I;16L", "I;16N"),
)
FEW_SIZES = ((1, 1), (1, 9), (19, 1), (5, 4), (24, 7), (35, 13), (3, 131))

Members = Mapping[str, tuple[str, ...]]
"""Names of members by enumeration of PIL.Image, as reported by `_matrix.py`. "MODES" has the names of Pillow's modes
instead, and "VERSION" its version."""

PILLOW_13: Members = MappingProxyType(
    {
        "VERSION": ("13.0.0",),
        "MODES": (
            *("1", "CMYK", "F", "HSV", "I", "I;16", "I;16B", "I;16L", "I;16N", "L", "LA", "La", "LAB", "P", "PA"),
            *("RGB", "RGBA", "RGBa", "RGBX", "YCbCr"),
        ),
        "Resampling": ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "mks2013", "mks2021"),
        "Transpose": (
            *("flip_left_right", "flip_top_bottom", "rotate_90", "rotate_180", "rotate_270", "transpose"),
            "transverse",
        ),
        "Transform": ("affine", "extent", "perspective", "quad", "mesh"),
        "Dither": ("none", "ordered", "rasterize", "floydsteinberg"),
        "Palette": ("web", "adaptive"),
        "Quantize": ("mediancut", "maxcoverage", "fastoctree", "libimagequant"),
    }
)
"""The members in Pillow 13.0.0, for use as a default; a proof asks the Pillow that it tests instead."""

_OF_A_LIBRARY = "libimagequant"
"""A method of quantizing that fails in official wheels, because they are built without the library of that name."""

_RADII = ("0", "0.3", "0.5", "1", "1.7", "2", "3", "3.5", "10")
_PAIRS = ("0.4:5", "3:0", "0:3", "0.3:0", "0:0.6", "2.5:0", "0:1.5", "0:0")
_CHOPS = (
    *("add", "add-scaled", "subtract", "subtract-scaled", "add_modulo", "subtract_modulo", "difference"),
    *("multiply", "screen", "lighter", "darker", "overlay", "soft_light", "hard_light", "invert", "offset"),
    *("logical_and", "logical_or", "logical_xor"),
)
_WIDE = "I;"
"""Prefix of the 16-bit modes. `ImageChops.offset` is not tested on them: up to Pillow 12.3 it copies only half rows."""

_MATRIX_TARGETS = ("L", "RGB")
_TABLES = (("3", ""), ("4", "RGBA"), ("3", "RGB"), ("3", "CMYK"))
_ROWS = ("", "RGB", "BGR", "RGBX", "LA", "LA;L", "L", "R")
_PADDED = "600"
"""A stride, in bytes from one row to the next, that is larger than the widest row of the pictures."""

_LARGE = "500x300"
"""A size that Pillow packs or compresses in several parts, and that kernels process in several strips."""

_JPEGS = ("plain", "best", "progressive", "optimized", "restarts", "colours", "markers")
_OF_LARGE = (
    *("pack/,0,1", "pack/BGR,0,-1", "unpack/,0,1", "array/", "pickle/", "bitmap/"),
    *("reduce/17", "reduce/5:280", "median/3", "median/5", "smallest/7", "largest/9"),
    *("box-blur/2", "box-blur/97:130", "gaussian-blur/1.7", "unsharp-mask/2,3000,3"),
    *("histogram/", "blend/1.4", "blend/1.2"),
    *(f"encode-jpeg/{settings}" for settings in _JPEGS),
)
_SIMPLE = (
    *("split/", "merge/", "putalpha/", "alpha-composite/", "histogram/", "getextrema/", "getbbox/"),
    *("getcolors/", "rotate/33,bilinear", "rotate/90,nearest", "median/3", "median/5"),
    *("smallest/3", "largest/3", "most-frequent/3", "blend/0.3", "blend/1.7", "composite/L", "composite/1"),
    *("composite/RGBA", "paste/L", "paste/1", "paste/RGBA", "paste/colour", "paste/outside", "crop/1:0:-1:-1"),
    *("crop/-2:-1:3:2", "thumbnail/4,", "thumbnail/3,2", "unsharp-mask/2,150,3", "unsharp-mask/0.4,90,0"),
    *("alpha-composite/0", "alpha-composite/255", "array/", "pickle/", "bitmap/", "encode-jpeg/plain"),
    *("point/", "point/bands", "point/solarize", "point/posterize"),
    *("getcolors/7", "getcolors/500", "getcolors/2000"),
    *("paste/LA", "paste/RGBa", "paste/itself", "paste/colour-1", "paste/colour-RGBA", "paste/colour-RGBa"),
)


def matrix_cases(
    *,
    sizes: tuple[tuple[int, int], ...] = FEW_SIZES,
    modes: tuple[str, ...] = MODES,
    members: Members = PILLOW_13,
) -> tuple[str, ...]:
    """Return the names of all cases: "operation/mode/WIDTHxHEIGHT/parameters".

    Every operation is listed with nearly every mode, even if Pillow refuses that mode.

    Args:
        sizes: widths and heights of the pictures.
        modes: modes of the pictures. With the default, the other modes in `members` are added.
        members: the members of the tested Pillow's enumerations, as returned by `read_members`.
    """
    if modes == MODES:
        modes = tuple(dict.fromkeys((*MODES, *members["MODES"])))
    cases = (
        (mode, f"{width}x{height}", text)
        for mode, (width, height) in product(modes, sizes)
        for text in _list_single_picture_cases(mode, width, height, members)
    )
    large = product(modes, (_LARGE,), _OF_LARGE)
    storages = (mode for mode in modes if mode in _REFUSED_MODES)
    refused = product(storages, (_REFUSED_SIZE,), _list_refused_arguments(members))
    return tuple(
        f"{operation}/{mode}/{size}/{parameters}"
        for mode, size, text in (*cases, *large, *refused)
        for operation, _, parameters in (text.partition("/"),)
    )


def _list_single_picture_cases(mode: str, width: int, height: int, members: Members) -> Iterator[str]:
    yield from _list_resizes(width, height, members["Resampling"])
    yield from _list_reductions(width, height)
    yield from _list_filters()
    yield from (f"getchannel/{band}" for band in range(4))
    yield from (f"convert/{target}" for target in MODES if mode == target or "LAB" not in (mode, target))
    yield from (f"convert-dithered/{target},{dither}" for target, dither in product(("1", "P"), members["Dither"]))
    yield from (f"convert-to-palette/{palette}" for palette in members["Palette"])
    yield from (f"quantize/{method}" for method in members["Quantize"] if method != _OF_A_LIBRARY)
    yield from (f"convert-by-matrix/{target}" for target in _MATRIX_TARGETS)
    yield from (f"transpose/{method}" for method in members["Transpose"])
    yield from (f"chops/{name}" for name in _CHOPS if name != "offset" or not mode.startswith(_WIDE))
    settings = product(("pack", "unpack"), _ROWS, (("0", "1"), (_PADDED, "-1")))
    yield from (f"{verb}/{rawmode},{stride},{step}" for verb, rawmode, (stride, step) in settings)
    yield from _SIMPLE
    yield from (f"rotate/17,{resample}" for resample in members["Resampling"])
    kinds = product(members["Transform"], ("nearest", "bilinear", "bicubic"))
    yield from (f"transform/{kind},{resample}" for kind, resample in kinds)
    names = product(("color", "contrast", "brightness", "sharpness"), ("0.5", "1.4"))
    yield from (f"enhance-{name}/{factor}" for name, factor in names)
    if mode not in ("1", "P", "PA", "I", "F") and not mode.startswith(_WIDE):
        shapes = product(("2", "3", "2:5:3", "17", "wide"), _TABLES)
        yield from (f"colour-table/{steps},{channels},{target}" for steps, (channels, target) in shapes)


def _list_resizes(width: int, height: int, resamples: tuple[str, ...]) -> Iterator[str]:
    halves = (f"{width}x{max(1, height // 2)}", f"{max(1, width // 3)}x{height}")
    targets = ("1x1", "3x2", "8x8", "13x40", "70x9", "3x131", *halves)
    for resample, target in product(resamples, dict.fromkeys(targets)):
        yield f"resize/{resample},{target}"
    if width > 3 and height > 3:  # noqa: PLR2004 (smaller pictures have no such box)
        yield from (f"resize/{resample},9x11,0.7:1.1:{width - 1.3:.1f}:{height - 0.4:.1f}" for resample in resamples)


def _list_reductions(width: int, height: int) -> Iterator[str]:
    yield from (f"reduce/{factor}" for factor in range(1, 8))
    pairs = dict.fromkeys(pair for a, b in product(range(1, 8), range(1, 4)) for pair in ((a, b), (b, a)) if a != b)
    yield from (f"reduce/{a}:{b}" for a, b in pairs)
    if width > 4 and height > 4:  # noqa: PLR2004 (smaller pictures have no such box)
        yield f"reduce/3,1:1:{width - 1}:{height}"


def _list_filters() -> Iterator[str]:
    settings = (("", "0"), ("3", "17"), ("0.25", "-40"))
    small, large = ("smooth", "sharpen", "edges", "uneven"), ("mean", "slope", "negative")
    yield from (f"filter-3x3/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(small, settings))
    yield from ("filter-3x3/overflow,1,0", "filter-3x3/detail,,0")
    yield from (f"filter-5x5/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(large, settings[:2]))
    yield from (f"box-blur/{radius}" for radius in (*_RADII, *_PAIRS))
    yield from (f"gaussian-blur/{radius}" for radius in (*_RADII, *_PAIRS))


_REFUSED_SIZE = "70x40"
"""A size that is large enough for every kernel."""

_REFUSED_MODES = ("L", "LA", "P", "RGB", "RGBA", "F", "I;16")
"""At least one mode for each kind of pixel storage."""


def _list_refused_arguments(members: Members) -> Iterator[str]:
    """Yield operations with arguments that Pillow's Python or C code refuses, or that are barely within its limits."""
    if int(members["VERSION"][0].partition(".")[0]) >= _CHECKS_MORE:
        yield from _list_arguments_refused_since()
    yield from _list_refused_sizes()
    yield from _list_refused_reductions()
    yield from _list_refused_kernels()
    yield from _list_refused_blurs()
    yield from _list_refused_ranks()
    yield from _list_refused_tables()
    yield from ("rotate/nan,bicubic", "rotate/inf,bilinear", "rotate/17,9", "transform/affine,9", "transform/quad,-1")
    kinds = product(("affine", "perspective", "quad"), ("nan", "short"), ("nearest", "bilinear", "bicubic"))
    yield from (f"transform/{kind}-{fault},{resample}" for kind, fault, resample in kinds)
    yield from ("transpose/7", "transpose/-1", "transpose/core=transpose:9")
    yield from ("convert/nope", "convert/core=convert:'nope';0", "getchannel/4", "getchannel/-1")
    yield from ("alpha-composite/taller", "alpha-composite/grey")
    yield from ("pack/,1,1", "pack/,-1,1", "pack/nope,0,1", "unpack/,1,1", "unpack/nope,0,1", "unpack/,-1,1")


_OUTSIDE = ("-1:0:70:40", "0:0:71:40", "0:0:70:41", "9:9:9:20", "9:9:20:9", "20:9:9:20", "1:2:3")
_NO_NUMBERS = ("nan:0:70:40", "0:nan:70:40", "0:0:nan:40", "0:0:70:nan", "nan:nan:nan:nan", "inf:0:70:40", "0:0:inf:40")


_CHECKS_MORE = 13
"""The first major version of Pillow that refuses certain arguments; earlier versions crash on them, or take minutes."""

_RANKS = ("median", "smallest", "largest")


def _list_arguments_refused_since() -> Iterator[str]:
    radii = ("nan", "inf", "-inf", "1e10", "3e9", "3:nan", "nan:3", "inf:1")
    yield from (f"{blur}/{radius}" for blur, radius in product(("box-blur", "gaussian-blur"), radii))
    yield from ("unsharp-mask/nan,150,3", "unsharp-mask/inf,150,3", "reduce/2147483647")
    yield from (f"{rank}/{side}" for rank, side in product(_RANKS, ("46343", "99999", "1")))


def _list_refused_sizes() -> Iterator[str]:
    for resample, target in (("nearest", "20x30"), *product(("lanczos",), ("20x30", "90x30", "20x90", "90x90"))):
        yield from (f"resize/{resample},{target},{box}" for box in (*_OUTSIDE, *_NO_NUMBERS))
    yield from (f"resize/bicubic,{size}" for size in ("0x5", "5x0", "-3x4", "600000000x1", "2147483647x2"))
    yield from ("resize/9,20x30", "resize/-1,20x30", "resize/9,20x30,nan:0:70:40")
    calls = ("(1.5;2);2", "(20;30);9", "(20;30);2;(0;0;70)", "(0;5);3", "('a';2)", "20;30")
    yield from (f"resize/core=resize:{arguments}" for arguments in calls)
    yield from ("thumbnail/0,", "thumbnail/-3,", "thumbnail/9,0.5", "thumbnail/9,nan")


def _list_refused_reductions() -> Iterator[str]:
    yield from (f"reduce/{factor}" for factor in ("0", "-1", "2:0", "2:3:4", "99999:1"))
    yield from (f"reduce/3,{box}" for box in _OUTSIDE)
    calls = (
        *("(0;1)", "(-2;2)", "('a';2)", "(1.5;2)", "(2;2);(1;2;3)"),
        *("(2;2);(5;5;5;9)", "(2;2);(-1;0;9;9)", "(2;2);(0;0;99;9)"),
    )
    yield from (f"reduce/core=reduce:{arguments}" for arguments in calls)


def _list_refused_kernels() -> Iterator[str]:
    numbers = ("0,0", "nan,0", "inf,0", "1e-30,0", "1,nan", "1,inf", "1,-inf", "1,70000", "1e30,0.5")
    for side, fitting, other in ((3, "smooth", "mean"), (5, "slope", "smooth")):
        yield from (f"filter-{side}x{side}/{fitting},{setting}" for setting in numbers)
        yield f"filter-{side}x{side}/{other},1,0"
        weights = _repeat(side * side)
        calls = ("1.0;0.0;(1;2)", f"'a';0.0;({weights})", f"0.0;'nan';({weights})", "1.0;0.0;7")
        yield from (f"filter-{side}x{side}/core=filter:({side};{side});{arguments}" for arguments in calls)
    for width, height, count in ((4, 4, 16), (7, 7, 49), (9, 1, 9), (-3, -3, 9), (-3, -3, 1)):
        yield f"filter-3x3/core=filter:({width};{height});1.0;0.0;({_repeat(count)};)"


def _repeat(count: int) -> str:
    return ";".join(("1",) * count)


def _list_refused_blurs() -> Iterator[str]:
    radii = ("-1", "999999", "-1:3", "3:-1", "1:2:3")
    calls = ("(1.0;1.0);0", "(1.0;1.0);-1", "(1.0;)", "('a';1)", "(0;0);0")
    for blur in ("box-blur", "gaussian-blur"):
        yield from (f"{blur}/{radius}" for radius in radii)
        yield from (f"{blur}/core={blur.replace('-', '_')}:{arguments}" for arguments in calls)
    yield "unsharp-mask/-1,150,3"
    percents = ("-50,3", "257,3", "258,3", "100000,0", "150,-1", "150,256", "0,0")
    yield from (f"unsharp-mask/2,{settings}" for settings in percents)


def _list_refused_ranks() -> Iterator[str]:
    yield from (f"{rank}/{side}" for rank, side in product(_RANKS, ("2", "0", "-1", "-3", "4")))
    calls = ("3;2", "5;20", "3;9", "3;-1", "2;0", "-3;0", "46343;0", "41;5", "'a';1")
    yield from (f"median/core=rankfilter:{arguments}" for arguments in calls)
    yield from (f"median/core=expand:{margin}" for margin in ("-1", "46341", "2147483647"))


def _list_refused_tables() -> Iterator[str]:
    table = f"({_repeat(24)})"
    shapes = ("3;2;2;2", "5;2;2;2", "3;1;2;2", "3;2;66;2", "3;2;2;1", "4;2;2;2")
    calls = (
        *(f"'RGB';2;{shape};{table}" for shape in shapes),
        *(f"{mode};3;2;2;2;{table}" for mode in ("'RGB';3", "'L';2", "'nope';2", "'RGBA';2")),
        *("'RGB';2;3;2;2;2;7", "'RGB';2;3;2;2;2;(1;2)", "'RGB';2;4;2;2;2;(1;2)", "'CMYK';2;3;2;2;2;'nan'"),
    )
    yield from (f"colour-table/core=color_lut_3d:{arguments}" for arguments in calls)
