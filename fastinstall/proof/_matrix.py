"""Perform one image operation, named "operation/mode/WIDTHxHEIGHT/parameters"; runs inside a target.

The name alone determines the operation and the picture, on every machine and Python, so each case can be repeated by
itself. Pictures are made from bytes, never by an operation under test. This module needs only the standard library and
PIL, and runs on Python 3.8 or later.
"""

from __future__ import annotations

import ast
import hashlib
import io
import pickle
import struct
from functools import lru_cache, partial
from typing import Any, Callable, Dict, Iterable, List, Tuple

import PIL
from PIL import Image, ImageChops, ImageEnhance, ImageFilter

Size = Tuple[int, int]
Parts = List[Tuple[str, Size, bytes]]
BYTES = {"L": 1, "P": 1, "1": 1, "LA": 2, "La": 2, "PA": 2, "RGB": 3, "YCbCr": 3, "HSV": 3, "LAB": 3}
BYTES.update({"I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2})
PREMULTIPLIED = ("La", "RGBa")
CORE = "core="


def members(enumeration: str) -> Dict[str, Any]:
    """Return the members of an enumeration of PIL.Image, by their names in lower case."""
    return {name.lower(): value for name, value in getattr(Image, enumeration).__members__.items()}


def report_members(name: str) -> Iterable[str]:
    """Return the member names of an enumeration of PIL.Image; for "MODES" and "VERSION", Pillow's modes and version."""
    if name == "VERSION":
        return [PIL.__version__.partition("+")[0]]
    return Image.MODES if name == "MODES" else members(name)


FILTERS = members("Resampling")
KERNELS = {
    "smooth": (1, 2, 1, 2, 4, 2, 1, 2, 1),
    "sharpen": (0, -1, 0, -1, 5, -1, 0, -1, 0),
    "detail": (0, -1, 0, -1, 10, -1, 0, -1, 0),
    "edges": (-1, -1, -1, -1, 8, -1, -1, -1, -1),
    "uneven": (0.31, -1.7, 1.9, 0.05, 1.12, -0.66, 0.93, -1.21, 0.47),
    "overflow": (1, 1, 1, 1, -300, 1, 1, 1, 1),
    "mean": (1,) * 25,
    "slope": tuple(0.37 * (number % 7) - 0.9 for number in range(25)),
    "negative": (0,) * 12 + (-40,) + (1,) * 12,
}


def perform(name: str) -> Parts:
    """Perform one case.

    Returns:
        Mode, size and samples of each resulting picture. A result that is not a picture has the mode "values", and its
        `repr` as samples.
    """
    operation, mode, size, parameters = name.split("/")
    width, height = size.split("x")
    image = picture(mode, (int(width), int(height)), 0)
    if parameters.startswith(CORE):
        made = call_core(image, parameters[len(CORE) :])
    else:
        made = OPERATIONS[operation](image, *parameters.split(","))
    return [_encode_part(item) for item in (made if isinstance(made, tuple) else (made,))]


def _encode_part(item: Any) -> tuple[str, Size, bytes]:
    if isinstance(item, Image.Image):
        return item.mode, item.size, item.tobytes()
    return "values", (1, 1), repr(item).encode()


@lru_cache(maxsize=64)
def picture(mode: str, size: Size, seed: int) -> Any:
    """Return a test picture, which is the same on every machine and with every PIL; `seed` selects one of several."""
    if mode == "1":
        return Image.frombytes("1", size, samples(mode, ((size[0] + 7) // 8, size[1]), 1, seed))
    if mode in ("I", "F"):
        return Image.frombytes(mode, size, numbers(mode, size, seed))
    content = samples(mode, size, BYTES.get(mode, 4), seed)
    if mode in PREMULTIPLIED:
        content = premultiplied(content, len(mode))
    made = Image.frombytes(mode, size, content)
    if mode in ("P", "PA"):
        made.putpalette(hashlib.shake_128(b"palette").digest(768))
    return made


def samples(mode: str, size: Size, count: int, seed: int) -> bytes:
    """Return `count` bytes of noise per pixel.

    If the number of pixels is even, half of the samples are 0 or 255, to make kernels overflow. If it is odd, the
    samples are from 64 to 191, so that few results are clipped and errors of rounding show.
    """
    length = size[0] * size[1] * count
    stream = hashlib.shake_128(("%s %dx%d %d" % (mode, size[0], size[1], seed)).encode()).digest(2 * length)
    if size[0] * size[1] % 2:
        return bytes(64 + value // 2 for value in stream[:length])
    chosen = zip(stream[:length], stream[length:])
    return bytes(0 if choice < 64 else 255 if choice < 128 else value for value, choice in chosen)


def numbers(mode: str, size: Size, seed: int) -> bytes:
    """Return samples for mode I or F, in the machine's byte order; some of them are below 0, some above 255."""
    count = size[0] * size[1]
    raw = struct.unpack("<%dH" % count, samples(mode, size, 2, seed))
    if mode == "I":
        return struct.pack("=%di" % count, *(value * 71000 // 65535 - 1000 for value in raw))
    return struct.pack("=%df" % count, *(value * 350.0 / 65535.0 - 50.0 for value in raw))


def premultiplied(content: bytes, bands: int) -> bytes:
    """Multiply each colour sample by its pixel's alpha, as in the modes La and RGBa."""
    alphas = content[bands - 1 :: bands]
    made = bytearray(content)
    for band in range(bands - 1):
        made[band::bands] = bytes(colour * alpha // 255 for colour, alpha in zip(content[band::bands], alphas))
    return bytes(made)


def other(image: Any) -> Any:
    """Return a different picture of the same mode and size."""
    return picture(image.mode, image.size, 1)


def mask(image: Any, mode: str = "L") -> Any:
    """Return a mask of the same size as an image."""
    return picture(mode, image.size, 2)


def floats(text: str) -> tuple[float, ...]:
    """Split a parameter like "0.5:2" into numbers."""
    return tuple(float(word) for word in text.split(":"))


def one_or_two(text: str) -> Any:
    """Return the number in a parameter like "2", or a tuple of the numbers in a parameter like "2:0"."""
    found = floats(text)
    return found if len(found) > 1 else found[0]


def call_core(image: Any, text: str) -> Any:
    """Call a method of the C core, bypassing Pillow's checks in Python.

    Args:
        image: the image whose core is called.
        text: the method and its arguments, as in "reduce:(2;2)"; the string 'nan' stands for the float NaN.
    """
    method, _, arguments = text.partition(":")
    values = ast.literal_eval("(%s,)" % arguments.replace(";", ","))
    made = getattr(image.im, method)(*(float(value) if value == "nan" else value for value in values))
    return image._new(made) if hasattr(made, "mode") else made  # noqa: SLF001 (as Pillow itself does)


def resampling(name: str) -> Any:
    """Return the resampling filter with this name; a text that names no filter has to be a filter's number."""
    return FILTERS[name] if name in FILTERS else int(name)


def resize(image: Any, resample: str, size: str, box: str = "") -> Any:
    """Resize to "WIDTHxHEIGHT"; a box, if given, selects the source area."""
    width, height = size.split("x")
    return image.resize((int(width), int(height)), resampling(resample), box=floats(box) if box else None)


def reduce(image: Any, factor: str, box: str = "") -> Any:
    """Reduce by one factor, or by a factor for each axis ("2:3"); a box, if given, selects the source area."""
    factors = tuple(int(value) for value in floats(factor))
    edges = tuple(int(value) for value in floats(box)) if box else None
    return image.reduce(factors if len(factors) > 1 else factors[0], edges)


def convolve(side: int, image: Any, kernel: str, scale: str, offset: str) -> Any:
    """Filter with a kernel of `KERNELS` that has `side` (3 or 5) rows and columns.

    The weighted sums are divided by `scale` or, if that is empty, by the sum of the kernel's values.
    """
    values = KERNELS[kernel]
    divisor = float(scale) if scale else (sum(values) or 1)
    return image.filter(ImageFilter.Kernel((side, side), values, scale=divisor, offset=float(offset)))


def alpha_composite(image: Any, alpha: str) -> Any:
    """Composite another picture over an image.

    `alpha` describes the other picture. A number is the alpha of all its pixels; if `alpha` is empty, each pixel has
    its own random alpha. "taller" and "grey" stand for pictures that Pillow refuses, because of their size or mode.
    """
    if alpha == "taller":
        return Image.alpha_composite(image, picture(image.mode, (image.size[0], image.size[1] + 1), 1))
    if alpha == "grey":
        return Image.alpha_composite(image, picture("L", image.size, 1))
    over = other(image).copy()
    if alpha:
        over.putalpha(int(alpha))
    return Image.alpha_composite(image, over)


def unsharp_mask(image: Any, radius: str, percent: str, threshold: str) -> Any:
    """Sharpen with an unsharp mask; the radius is in pixels, the threshold in levels."""
    return image.filter(ImageFilter.UnsharpMask(float(radius), int(percent), int(threshold)))


@lru_cache(maxsize=64)
def table_of(sizes: str, channels: str, mode: str) -> Any:
    """Return a colour table with some values outside 0 to 1 ("wide": -3 to 4), which the filter has to clip."""
    counts = floats("5:4:7" if sizes == "wide" else sizes)
    steps = tuple(int(value) for value in counts) * (3 if len(counts) == 1 else 1)
    count = steps[0] * steps[1] * steps[2] * int(channels)
    raw = hashlib.shake_128(b"table").digest(count)
    if sizes == "wide":
        table = [value / 36.4 - 3.0 for value in raw]
    else:
        table = [3.0 if value > 245 else value / 150.0 - 0.3 for value in raw]
    return ImageFilter.Color3DLUT(steps, table, channels=int(channels), target_mode=mode or None)


def putalpha(image: Any, _: str = "") -> Any:
    """Return a copy of the image with a picture of noise as its alpha."""
    made = image.copy()
    made.putalpha(mask(image))
    return made


def merge(image: Any, _: str = "") -> Any:
    """Merge grey pictures, one for each band, into a picture of the image's mode."""
    bands = [picture("L", image.size, 9 + number) for number in range(len(image.getbands()))]
    return Image.merge(image.mode, bands)


def convert_by_matrix(image: Any, mode: str) -> Any:
    """Convert an image by a matrix: of 12 numbers to mode "RGB", of 4 numbers to mode "L"."""
    matrix = (0.41, 0.36, 0.18, 3.0, 0.21, 0.72, -0.07, 0.0, 0.02, 0.12, 1.35, -9.0)
    return image.convert(mode, matrix if mode == "RGB" else matrix[:4])


def chops(image: Any, name: str) -> Any:
    """Apply a function of ImageChops to an image; "add-scaled" and "subtract-scaled" use a scale and an offset."""
    if name == "add-scaled":
        return ImageChops.add(image, other(image), 2.0, 3)
    if name == "subtract-scaled":
        return ImageChops.subtract(image, other(image), 0.7, -40)
    if name == "invert":
        return ImageChops.invert(image)
    if name == "offset":
        return ImageChops.offset(image, 3, -1)
    return getattr(ImageChops, name)(image, other(image))


def paste(image: Any, kind: str) -> Any:
    """Paste a colour, the image itself, or another picture.

    `kind` is one of: "colour" or "colour-MODE", to paste a colour through a mask (of mode "L", or of MODE); "itself",
    to paste the image into itself; "outside", to paste another picture partly outside the image; MODE, to paste another
    picture through a mask of that mode.
    """
    made = image.copy()
    if kind == "colour":
        made.paste(77 if len(image.getbands()) == 1 else (9, 200, 77, 130)[: len(image.getbands())], None, mask(image))
    elif kind.startswith("colour-"):
        made.paste(
            0 if len(image.getbands()) == 1 else (9, 0, 77, 130)[: len(image.getbands())], None, mask(image, kind[7:])
        )
    elif kind == "itself":
        made.paste(made, (1, 1), mask(image))
    elif kind == "outside":
        made.paste(other(image), (-1, 2))
    else:
        made.paste(other(image), (0, 0), mask(image, kind))
    return made


def thumbnail(image: Any, size: str, gap: str) -> Any:
    """Make a thumbnail that fits into a square of `size` pixels; `gap`, if not empty, is Pillow's `reducing_gap`."""
    made = image.copy()
    made.thumbnail((int(size), int(size)), FILTERS["bicubic"], float(gap) if gap else None)
    return made


def point(image: Any, kind: str) -> Any:
    """Map each sample by a table.

    `kind` is "solarize", "posterize", "bands" (a different table for each band), or empty (the same table for all).
    """
    count = len(image.getbands())
    if kind == "solarize":
        return image.point([value if value < 77 else 255 - value for value in range(256)] * count)
    if kind == "posterize":
        return image.point([value & 0xE0 for value in range(256)] * count)
    factors = (7, 11, 3, 5)[:count] if kind == "bands" else (7,) * count
    return image.point([(value * factor + 13) % 256 for factor in factors for value in range(256)])


def getcolors(image: Any, most: str) -> Any:
    """Return an image's colours with their counts, in the order of Pillow's C code; None if there are more than `most`.

    If `most` is empty, the colours are sorted; for an image with more than 65536 colours, the result is then an empty
    list.
    """
    return image.getcolors(int(most)) if most else sorted(image.getcolors(1 << 16) or [], key=repr)


def transform(image: Any, kind: str, resample: str) -> Any:
    """Transform to a larger picture; `kind` is a method, with "-nan" or "-short" appended for invalid data."""
    width, height = image.size
    corners = (1.2, 0.7, 0.3, height - 1.1, width - 0.6, height - 0.2, width + 0.4, 0.1)
    method, _, fault = kind.partition("-")
    data = {
        "affine": (0.9, 0.1, 0.5, -0.1, 1.1, 0.9),
        "extent": (1.3, -0.8, width - 0.7, height + 0.4),
        "perspective": (0.9, 0.1, 0.5, -0.1, 1.1, 0.9, 0.01, 0.02),
        "mesh": [((0, 0, width, height // 2 + 1), corners), ((1, height // 2, width + 2, height), corners)],
    }.get(method, corners)
    if fault == "nan":
        data = (float("nan"),) * len(data)
    elif fault == "short":
        data = data[:-1]
    return image.transform((width + 2, height + 1), members("Transform")[method], data, resampling(resample))


def crop(image: Any, edges: str) -> Any:
    """Crop to "LEFT:TOP:RIGHT:BOTTOM"; RIGHT and BOTTOM are offsets from the image's right and lower edges."""
    left, top, right, bottom = (int(value) for value in floats(edges))
    return image.crop((left, top, image.size[0] + right, image.size[1] + bottom))


def enhance(kind: str, image: Any, factor: str) -> Any:
    """Enhance an image by a factor, with the class of ImageEnhance named `kind`."""
    return getattr(ImageEnhance, kind)(image).enhance(float(factor))


def pack(image: Any, rawmode: str, stride: str, step: str) -> Any:
    """Pack an image's rows in a raw mode; the stride is in bytes, and a step of -1 packs the last row first."""
    return row_of(image.tobytes("raw", rawmode or image.mode, int(stride), int(step)))


def unpack(image: Any, rawmode: str, stride: str, step: str) -> Any:
    """Unpack rows of noise into a picture; for RGB, also return the pixels with their unused fourth byte."""
    chosen, made = rawmode or image.mode, Image.new(image.mode, image.size)
    row = int(stride) or image.size[0] * BYTES.get(chosen, 4)
    made.frombytes(samples(image.mode, (row, image.size[1]), 1, 3), "raw", chosen, int(stride), int(step))
    return (made, row_of(made.tobytes("raw", "RGBX"))) if image.mode == "RGB" else made


JPEGS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "best": {"quality": 100, "subsampling": 0},
    "progressive": {"progressive": True, "quality": 85},
    "optimized": {"optimize": True, "comment": b"kept", "dpi": (72, 300)},
    "restarts": {"restart_marker_rows": 1, "smooth": 20},
    "colours": {"keep_rgb": True},
    "markers": {"exif": b"Exif\0\0" + bytes(60000), "icc_profile": bytes(70000)},
}


def encode_jpeg(image: Any, name: str) -> Any:
    """Encode an image as JPEG with the settings `JPEGS[name]`; return the bytes of the file as a picture."""
    file = io.BytesIO()
    image.save(file, "JPEG", **JPEGS[name])
    return row_of(file.getvalue())


def row_of(content: bytes) -> Any:
    """Return bytes as a grey picture, one row high."""
    return Image.frombytes("L", (len(content), 1), content)


OPERATIONS: Dict[str, Callable[..., Any]] = {
    "members": lambda _, name: row_of(" ".join(report_members(name)).encode()),
    "resize": resize,
    "reduce": reduce,
    "filter-3x3": partial(convolve, 3),
    "filter-5x5": partial(convolve, 5),
    "box-blur": lambda image, radius: image.filter(ImageFilter.BoxBlur(one_or_two(radius))),
    "gaussian-blur": lambda image, radius: image.filter(ImageFilter.GaussianBlur(one_or_two(radius))),
    "unsharp-mask": unsharp_mask,
    "colour-table": lambda image, *words: image.filter(table_of(*words)),
    "split": lambda image, _: image.split(),
    "getchannel": lambda image, band: image.getchannel(int(band)),
    "merge": merge,
    "putalpha": putalpha,
    "convert": lambda image, mode: image.convert(mode),
    "convert-dithered": lambda image, mode, name: image.convert(mode, dither=members("Dither")[name]),
    "convert-to-palette": lambda image, name: image.convert("P", palette=members("Palette")[name], colors=17),
    "convert-by-matrix": convert_by_matrix,
    "alpha-composite": alpha_composite,
    "quantize": lambda image, name: image.quantize(17, members("Quantize")[name]),
    "rotate": lambda image, angle, resample: image.rotate(float(angle), resampling(resample), expand=True),
    "transform": transform,
    "transpose": lambda image, name: image.transpose(members("Transpose").get(name, name)),
    "median": lambda image, side: image.filter(ImageFilter.MedianFilter(int(side))),
    "smallest": lambda image, side: image.filter(ImageFilter.MinFilter(int(side))),
    "largest": lambda image, side: image.filter(ImageFilter.MaxFilter(int(side))),
    "most-frequent": lambda image, side: image.filter(ImageFilter.ModeFilter(int(side))),
    "chops": chops,
    "blend": lambda image, share: Image.blend(image, other(image), float(share)),
    "composite": lambda image, mode: Image.composite(image, other(image), mask(image, mode)),
    "paste": paste,
    "point": point,
    "crop": crop,
    "thumbnail": thumbnail,
    "pack": pack,
    "unpack": unpack,
    "array": lambda image, _: row_of(image.__array_interface__["data"]),
    "pickle": lambda image, _: pickle.loads(pickle.dumps(image)),  # noqa: S301 (pickled just before)
    "bitmap": lambda image, _: row_of(image.tobitmap()),
    "encode-jpeg": encode_jpeg,
    "histogram": lambda image, _: image.histogram(),
    "getextrema": lambda image, _: image.getextrema() and [image.getextrema()],
    "getbbox": lambda image, _: [image.getbbox()],
    "getcolors": getcolors,
    "enhance-color": partial(enhance, "Color"),
    "enhance-contrast": partial(enhance, "Contrast"),
    "enhance-brightness": partial(enhance, "Brightness"),
    "enhance-sharpness": partial(enhance, "Sharpness"),
}
