"""Define the rows of `stack.py`: operations of image pipelines in Pillow, with their goals and their pictures."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageCms, ImageDraw, ImageEnhance, ImageFilter, ImageOps, ImageStat

Call = Callable[[], object]
Calls = dict[str, Call]
FILTERS = {"box": 4, "bilinear": 2, "bicubic": 3, "lanczos": 1}
SPIN = (0.9, 0.1, 5.0, -0.1, 0.9, 9.0)
LENS = (0.9, 0.1, 5.0, -0.05, 0.95, 4.0, 0.0001, 0.0002)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
STRENGTH = 1.4
TURN_OF_HUE = 20
GAMMA = [int(255 * (value / 255) ** 0.7) for value in range(256)]
CROP = (0.11, 0.09, 0.73, 0.93)
"""Left, top, right and bottom of a random crop, as fractions of the picture's width or height."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal of a row: be `at_least` times as fast as `column`, for pictures of this `width` (None for any width)."""

    at_least: float
    column: str
    width: int | None = None


class Pictures:
    """The pictures of one size, each created on first use and then kept.

    All workers share a directory with the photograph and the encoded files, because different builds of Pillow may
    encode differently. The first worker that needs a file writes it.
    """

    def __init__(self, directory: Path, size: tuple[int, int], photo: Path | None) -> None:
        self.directory, self.size, self._photo = directory, size, photo
        self.width, self.height = size
        self.small = small(size)
        self._arrays: dict[str, Any] = {}

    @cached_property
    def rgb(self) -> Image.Image:
        return Image.frombytes("RGB", self.size, self.kept("photo", lambda: take_photo(self._photo, self.size)))

    @cached_property
    def array(self) -> Any:
        return self.array_of("rgb")

    @cached_property
    def gray(self) -> Image.Image:
        return self.rgb.convert("L")

    @cached_property
    def floats(self) -> Image.Image:
        return self.gray.convert("F")

    @cached_property
    def shorts(self) -> Image.Image:
        return Image.fromarray(np.array(self.gray).astype("u2") * 257)

    @cached_property
    def mask(self) -> Image.Image:
        return Image.radial_gradient("L").resize(self.size)

    @cached_property
    def rgba(self) -> Image.Image:
        picture = self.rgb.convert("RGBA")
        picture.putalpha(self.mask)
        return picture

    @cached_property
    def opaque(self) -> Image.Image:
        return self.rgb.convert("RGBA")

    @cached_property
    def other(self) -> Image.Image:
        return self.rgb.transpose(Image.Transpose.FLIP_LEFT_RIGHT)

    @cached_property
    def other_rgba(self) -> Image.Image:
        return self.rgba.transpose(Image.Transpose.FLIP_LEFT_RIGHT)

    @cached_property
    def bands(self) -> tuple[Image.Image, ...]:
        return tuple(self.rgb.split())

    @cached_property
    def hsv(self) -> Image.Image:
        return self.rgb.convert("HSV")

    @cached_property
    def ycbcr(self) -> Image.Image:
        return self.rgb.convert("YCbCr")

    @cached_property
    def cmyk(self) -> Image.Image:
        return self.rgb.convert("CMYK")

    @cached_property
    def palette(self) -> Image.Image:
        return self.rgb.quantize(256, Image.Quantize.FASTOCTREE)

    @cached_property
    def logo(self) -> Image.Image:
        return self.rgba.resize((max(self.width // 4, 1), max(self.height // 4, 1)))

    @cached_property
    def framed(self) -> Image.Image:
        """A picture that is black except for the middle."""
        picture = Image.new("RGB", self.size)
        picture.paste(self.logo, (self.width * 3 // 8, self.height * 3 // 8))
        return picture

    @cached_property
    def thumbnail(self) -> Image.Image:
        return self.rgb.resize((256, 256))

    @cached_property
    def page(self) -> Image.Image:
        """A white page with lines of letters."""
        page = Image.new("RGB", self.size, "white")
        pen = ImageDraw.Draw(page)
        for line in range(self.height // 14):
            letters = "".join(chr(32 + (line * line + 7 * place * place) % 90) for place in range(self.width // 6))
            pen.text((40, 14 * line + 10), letters, fill=(line % 3 * 40, 0, 0))
        return page

    @cached_property
    def jpeg(self) -> bytes:
        return self.kept("jpeg", lambda: saved(self.rgb, "JPEG", quality=90))

    @cached_property
    def png(self) -> bytes:
        return self.kept("png", lambda: saved(self.rgb, "PNG"))

    @cached_property
    def png_page(self) -> bytes:
        return self.kept("png page", lambda: saved(self.page, "PNG"))

    @cached_property
    def webp(self) -> bytes:
        return self.kept("webp", lambda: saved(self.rgb, "WEBP", quality=80))

    @cached_property
    def avif(self) -> bytes:
        return self.kept("avif", lambda: saved(self.rgb, "AVIF", speed=9))

    @cached_property
    def tiff_raw(self) -> bytes:
        return self.kept("tiff raw", lambda: saved(self.rgb, "TIFF"))

    @cached_property
    def tiff_lzw(self) -> bytes:
        return self.kept("tiff lzw", lambda: saved(self.rgb, "TIFF", compression="tiff_lzw"))

    @cached_property
    def tiff_deflate(self) -> bytes:
        return self.kept("tiff deflate", lambda: saved(self.rgb, "TIFF", compression="tiff_adobe_deflate"))

    def array_of(self, name: str) -> Any:
        """Return the picture in the attribute `name` as an array, which is kept for later calls."""
        if name not in self._arrays:
            self._arrays[name] = np.array(getattr(self, name))
        return self._arrays[name]

    def kept(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return the content of a file that all workers share; write it first if it is missing."""
        file = self.directory / f"{name} {self.width}x{self.height}"
        if not file.exists():
            file.write_bytes(make())
        return file.read_bytes()


def take_photo(file: Path | None, size: tuple[int, int]) -> bytes:
    """Return the RGB pixels of a photograph in a given size; if it is enlarged, add noise like a camera's."""
    if file is None:
        shades = np.random.default_rng(20).integers(0, 256, (18, 32, 3), "u1")
        taken = Image.fromarray(shades).resize((480, 270), Image.Resampling.BICUBIC)
    else:
        with Image.open(file) as opened:
            taken = opened.convert("RGB")
    array = np.asarray(taken.resize(size, Image.Resampling.BICUBIC))
    if size[0] > taken.width:
        array = np.clip(array + np.random.default_rng(46).normal(0, 5, array.shape), 0, 255).astype("u1")
    return bytes(array.tobytes())


def small(size: tuple[int, int]) -> tuple[int, int]:
    """Scale a size so that its shorter side has 256 pixels."""
    scale = 256 / min(size)
    return round(size[0] * scale), round(size[1] * scale)


def enlarged(size: tuple[int, int], factor: float) -> tuple[int, int]:
    return round(size[0] * factor), round(size[1] * factor)


def saved(picture: Image.Image, form: str, **options: Any) -> bytes:
    target = io.BytesIO()
    picture.save(target, form, **options)
    return target.getvalue()


def loaded(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def drafted(data: bytes, size: tuple[int, int]) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.draft("RGB", size)
    picture.load()
    return picture


def thumbnail(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.thumbnail((256, 256))
    return picture


def crop_middle(picture: Image.Image) -> Image.Image:
    left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
    return picture.crop((left, top, left + 224, top + 224))


def normalise(array: Any) -> Any:
    """Normalise colours for a neural network: floats around 0, bands first."""
    floats = array.astype("f4") / 255
    return np.ascontiguousarray(((floats - np.float32(MEAN)) / np.float32(DEVIATION)).transpose(2, 0, 1))


def prepare_for_vision(data: bytes, size: tuple[int, int]) -> Any:
    """Prepare a picture as servers of vision models do: decode, resize and normalise."""
    picture = loaded(data).convert("RGB").resize(enlarged(size, 0.6), Image.Resampling.BICUBIC)
    return normalise(np.asarray(picture))


def random_crop(picture: Image.Image) -> Image.Image:
    box = tuple(share * side for share, side in zip(CROP, 2 * picture.size, strict=True))
    return picture.resize((224, 224), Image.Resampling.BICUBIC, (box[0], box[1], box[2], box[3]))


def shift_hue(picture: Image.Image) -> Image.Image:
    hue, saturation, value = picture.convert("HSV").split()
    turned = hue.point([(level + TURN_OF_HUE) % 256 for level in range(256)])
    return Image.merge("HSV", (turned, saturation, value)).convert("RGB")


def simclr(picture: Image.Image) -> Image.Image:
    """Crop, flip, change brightness, contrast, saturation and hue, and blur."""
    crop = random_crop(picture).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    for enhancer in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        crop = enhancer(crop).enhance(STRENGTH)
    return shift_hue(crop).filter(ImageFilter.GaussianBlur(1.5))


def randaugment(picture: Image.Image) -> Image.Image:
    """Crop, and apply six of RandAugment's operations."""
    crop = random_crop(picture).transform((224, 224), Image.Transform.AFFINE, (1, 0.15, 0, 0, 1, 0), 2).rotate(15, 2)
    crop = ImageEnhance.Sharpness(ImageEnhance.Color(crop).enhance(STRENGTH)).enhance(STRENGTH)
    return ImageOps.solarize(ImageOps.equalize(crop), 200)


def fill(picture: Image.Image, mask: Image.Image) -> Image.Image:
    target = picture.copy()
    target.paste((255, 120, 9), None, mask)
    return target


def paste(picture: Image.Image, other: Image.Image, place: tuple[int, int], mask: Image.Image) -> Image.Image:
    target = picture.copy()
    target.paste(other, place, mask)
    return target


def make_thumbnail(picture: Image.Image, side: int) -> Image.Image:
    target = picture.copy()
    target.thumbnail((side, side))
    return target


def put_alpha(picture: Image.Image, alpha: Image.Image) -> Image.Image:
    target = picture.copy()
    target.putalpha(alpha)
    return target


def list_calls(p: Pictures) -> Calls:
    """Return the operation of each row, by the row's name."""
    return {
        **reading(p),
        **writing(p),
        **resizing(p),
        **transforming(p),
        **filtering(p),
        **recolouring(p),
        **converting(p),
        **combining(p),
        **summarising(p),
        **exchanging(p),
    }


def reading(p: Pictures) -> Calls:
    """Return rows that decode files, alone or as the first step of a pipeline, and two pipelines of augmentations."""
    quarter = (p.width // 4, p.height // 4)
    return {
        "jpeg load": lambda: loaded(p.jpeg),
        "jpeg->array": lambda: np.asarray(Image.open(io.BytesIO(p.jpeg))),
        "jpeg decode 1/4 (draft)": lambda: drafted(p.jpeg, quarter),
        "jpeg -> thumbnail 256": lambda: thumbnail(p.jpeg),
        "jpeg -> thumb -> webp": lambda: saved(thumbnail(p.jpeg), "WEBP", quality=80),
        "jpeg -> thumb -> jpeg": lambda: saved(thumbnail(p.jpeg), "JPEG", quality=85),
        "jpeg, to 256, crop 224, array": lambda: np.asarray(crop_middle(loaded(p.jpeg).resize(p.small, 2))),
        "vlm: jpeg, bicubic 0.6, norm": lambda: prepare_for_vision(p.jpeg, p.size),
        "vlm: png, bicubic 0.6, norm": lambda: prepare_for_vision(p.png, p.size),
        "simclr": lambda: simclr(p.rgb),
        "randaugment": lambda: randaugment(p.rgb),
        "png->array": lambda: np.asarray(Image.open(io.BytesIO(p.png))),
        "png page->array": lambda: np.asarray(Image.open(io.BytesIO(p.png_page))),
        "webp->array": lambda: np.asarray(Image.open(io.BytesIO(p.webp))),
        "tiff raw->array": lambda: np.asarray(Image.open(io.BytesIO(p.tiff_raw))),
        "tiff lzw->array": lambda: np.asarray(Image.open(io.BytesIO(p.tiff_lzw))),
        "tiff deflate->array": lambda: np.asarray(Image.open(io.BytesIO(p.tiff_deflate))),
        "avif->array": lambda: np.asarray(Image.open(io.BytesIO(p.avif))),
    }


def writing(p: Pictures) -> Calls:
    """Return rows that encode pictures to files in memory."""
    return {
        "save jpeg q90": lambda: saved(p.rgb, "JPEG", quality=90),
        "save jpeg q75": lambda: saved(p.rgb, "JPEG"),
        "save png level 1": lambda: saved(p.rgb, "PNG", compress_level=1),
        "save png default": lambda: saved(p.rgb, "PNG"),
        "save png page": lambda: saved(p.page, "PNG"),
        "save png optimize": lambda: saved(p.rgb, "PNG", optimize=True),
        "save png RGBA default": lambda: saved(p.rgba, "PNG"),
        "save webp q80": lambda: saved(p.rgb, "WEBP", quality=80),
        "save webp lossless": lambda: saved(p.rgb, "WEBP", lossless=True, quality=20, method=1),
        "save tiff lzw": lambda: saved(p.rgb, "TIFF", compression="tiff_lzw"),
        "save tiff raw": lambda: saved(p.rgb, "TIFF"),
        "save bmp": lambda: saved(p.rgb, "BMP"),
        "save gif": lambda: saved(p.palette, "GIF"),
        "save avif speed 8": lambda: saved(p.rgb, "AVIF", speed=8),
    }


def resizing(p: Pictures) -> Calls:
    """Return rows that resize or crop."""
    up, half = enlarged(p.size, 1.5), enlarged(p.size, 0.5)
    box = tuple(int(share * side) for share, side in zip(CROP, 2 * p.size, strict=True))
    places = (box[0], box[1], box[2], box[3])

    def resize(size: tuple[int, int], number: int) -> Call:
        return lambda: p.rgb.resize(size, number)

    return {
        **{f"resize down {name}": resize(p.small, number) for name, number in FILTERS.items()},
        **{f"resize up {name}": resize(up, number) for name, number in FILTERS.items()},
        "resize down nearest": resize(p.small, 0),
        "resize up nearest": resize(up, 0),
        "resize down lanczos RGBA": lambda: p.rgba.resize(p.small, 1),
        "resize down lanczos L": lambda: p.gray.resize(p.small, 1),
        "resize half bicubic": resize(half, 3),
        "resize half bilinear F": lambda: p.floats.resize(half, 2),
        "resize half bilinear I;16": lambda: p.shorts.resize(half, 2),
        "resize half nearest I;16": lambda: p.shorts.resize(half, 0),
        "reduce 2": lambda: p.rgb.reduce(2),
        "reduce 4": lambda: p.rgb.reduce(4),
        "reduce 20": lambda: p.rgb.reduce(20),
        "thumbnail 32": lambda: make_thumbnail(p.rgb, 32),
        "resize reducing_gap 2 lanczos": lambda: p.rgb.resize(p.small, 1, reducing_gap=2.0),
        "crop+resize 224 bicubic": lambda: p.rgb.crop(places).resize((224, 224), 3),
        "crop": lambda: p.rgb.crop(places),
        "ImageOps.fit 224": lambda: ImageOps.fit(p.rgb, (224, 224)),
        "ImageOps.pad 448": lambda: ImageOps.pad(p.rgb, (448, 448)),
    }


def transforming(p: Pictures) -> Calls:
    """Return rows that rotate, flip or warp."""
    turns = Image.Transpose

    def warp(kind: Image.Transform, places: tuple[float, ...], number: int) -> Call:
        return lambda: p.rgb.transform(p.size, kind, places, number)

    return {
        "rotate 7 nearest": lambda: p.rgb.rotate(7, 0),
        "rotate 7 bilinear": lambda: p.rgb.rotate(7, 2),
        "rotate 7 bicubic": lambda: p.rgb.rotate(7, 3),
        "affine bilinear": warp(Image.Transform.AFFINE, SPIN, 2),
        "affine bicubic": warp(Image.Transform.AFFINE, SPIN, 3),
        "perspective bilinear": warp(Image.Transform.PERSPECTIVE, LENS, 2),
        "perspective bicubic": warp(Image.Transform.PERSPECTIVE, LENS, 3),
        "flip left right": lambda: p.rgb.transpose(turns.FLIP_LEFT_RIGHT),
        "flip top bottom": lambda: p.rgb.transpose(turns.FLIP_TOP_BOTTOM),
        "rotate 90": lambda: p.rgb.transpose(turns.ROTATE_90),
        "rotate 180": lambda: p.rgb.transpose(turns.ROTATE_180),
    }


def filtering(p: Pictures) -> Calls:
    """Return rows that filter by neighbouring pixels."""
    filters: dict[str, Any] = {
        "gaussian r2": ImageFilter.GaussianBlur(2),
        "gaussian r5": ImageFilter.GaussianBlur(5),
        "box blur r2": ImageFilter.BoxBlur(2),
        "median 3": ImageFilter.MedianFilter(3),
        "median 5": ImageFilter.MedianFilter(5),
        "max 3": ImageFilter.MaxFilter(3),
        "unsharp 2": ImageFilter.UnsharpMask(2),
        "filter SHARPEN 3x3": ImageFilter.SHARPEN,
        "filter DETAIL 3x3": ImageFilter.DETAIL,
        "filter SMOOTH_MORE 5x5": ImageFilter.SMOOTH_MORE,
    }

    def apply(kind: Any) -> Call:
        return lambda: p.rgb.filter(kind)

    return {name: apply(kind) for name, kind in filters.items()}


def recolouring(p: Pictures) -> Calls:
    """Return rows that change colours within a mode."""
    return {
        "brightness": lambda: ImageEnhance.Brightness(p.rgb).enhance(STRENGTH),
        "contrast": lambda: ImageEnhance.Contrast(p.rgb).enhance(STRENGTH),
        "saturation": lambda: ImageEnhance.Color(p.rgb).enhance(STRENGTH),
        "sharpness": lambda: ImageEnhance.Sharpness(p.rgb).enhance(STRENGTH),
        "hue": lambda: shift_hue(p.rgb),
        "autocontrast": lambda: ImageOps.autocontrast(p.rgb),
        "equalize": lambda: ImageOps.equalize(p.rgb),
        "posterize": lambda: ImageOps.posterize(p.rgb, 4),
        "solarize": lambda: ImageOps.solarize(p.rgb, 128),
        "invert": lambda: ImageOps.invert(p.rgb),
        "point table RGB": lambda: p.rgb.point(GAMMA * 3),
        "point table L": lambda: p.gray.point(GAMMA),
        "grayscale+expand": lambda: ImageOps.expand(ImageOps.grayscale(p.rgb), 16),
    }


def converting(p: Pictures) -> Calls:
    """Return rows that convert between modes, bands and palettes."""
    web = Image.new("P", (1, 1))
    web.putpalette([shade for r in range(6) for g in range(6) for b in range(6) for shade in (51 * r, 51 * g, 51 * b)])
    to_lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")
    return {
        "split": lambda: p.rgb.split(),
        "merge": lambda: Image.merge("RGB", p.bands),
        "getchannel": lambda: p.rgb.getchannel("G"),
        "putalpha": lambda: put_alpha(p.rgba, p.mask),
        "RGB->L": lambda: p.rgb.convert("L"),
        "L->RGB": lambda: p.gray.convert("RGB"),
        "RGB->RGBA": lambda: p.rgb.convert("RGBA"),
        "RGBA->RGB": lambda: p.rgba.convert("RGB"),
        "RGB->HSV": lambda: p.rgb.convert("HSV"),
        "HSV->RGB": lambda: p.hsv.convert("RGB"),
        "RGB->YCbCr": lambda: p.rgb.convert("YCbCr"),
        "YCbCr->RGB": lambda: p.ycbcr.convert("RGB"),
        "RGB->LAB (cms)": lambda: ImageCms.applyTransform(p.rgb, to_lab),
        "RGB->CMYK": lambda: p.rgb.convert("CMYK"),
        "CMYK->RGB": lambda: p.cmyk.convert("RGB"),
        "RGB->1 dither": lambda: p.rgb.convert("1"),
        "P->RGB": lambda: p.palette.convert("RGB"),
        "RGB->P web dither": lambda: p.rgb.convert("P"),
        "quantize median cut": lambda: p.rgb.quantize(256, Image.Quantize.MEDIANCUT),
        "quantize fast octree": lambda: p.rgb.quantize(256, Image.Quantize.FASTOCTREE),
        "quantize to palette dither": lambda: p.rgb.quantize(palette=web),
    }


def combining(p: Pictures) -> Calls:
    """Return rows that combine two pictures."""
    corner = (p.width // 8, p.height // 8)
    return {
        "paste mask": lambda: paste(p.rgb, p.other, (0, 0), p.mask),
        "paste RGBA mark": lambda: paste(p.rgb, p.logo, corner, p.logo),
        "fill by a mask": lambda: fill(p.rgb, p.mask),
        "alpha_composite": lambda: Image.alpha_composite(p.rgba, p.other_rgba),
        "blend": lambda: Image.blend(p.rgb, p.other, 0.4),
        "composite": lambda: Image.composite(p.rgb, p.other, p.mask),
        "chops add": lambda: ImageChops.add(p.rgb, p.other),
        "chops multiply": lambda: ImageChops.multiply(p.rgb, p.other),
        "chops difference": lambda: ImageChops.difference(p.rgb, p.other),
    }


def summarising(p: Pictures) -> Calls:
    """Return rows that compute statistics of a picture."""
    return {
        "histogram": lambda: p.rgb.histogram(),
        "getextrema": lambda: p.rgb.getextrema(),
        "getbbox": lambda: p.framed.getbbox(),
        "getcolors": lambda: p.rgb.getcolors(1 << 24),
        "stat mean": lambda: ImageStat.Stat(p.rgb).mean,
        "entropy": lambda: p.gray.entropy(),
    }


def exchanging(p: Pictures) -> Calls:
    """Return rows that exchange data with NumPy, copy, or create a picture of one colour."""
    return {
        "np.asarray": lambda: np.asarray(p.rgb),
        "np.array copy": lambda: np.array(p.rgb),
        "fromarray": lambda: Image.fromarray(p.array),
        "tobytes": lambda: p.rgb.tobytes(),
        "copy": lambda: p.rgb.copy(),
        "Image.new": lambda: Image.new("RGB", p.size, (10, 20, 30)),
        "array, float, normalise CHW (256)": lambda: normalise(np.asarray(p.thumbnail)),
    }


LEAST = Goal(at_least=0.97, column="stock")
"""The goal of every row."""

GOALS = {
    "jpeg load": Goal(at_least=0.95, column="simplejpeg"),
    "jpeg->array": Goal(at_least=0.9, column="simplejpeg"),
    "png->array": Goal(at_least=1.7, column="before", width=1920),
    "png page->array": Goal(at_least=2, column="before", width=1920),
    "save jpeg q90": Goal(at_least=1.15, column="before"),
    "save jpeg q75": Goal(at_least=1.15, column="before"),
    "save png level 1": Goal(at_least=2, column="before", width=1920),
    "save png default": Goal(at_least=2.8, column="before", width=1920),
    "save png RGBA default": Goal(at_least=2.5, column="before", width=1920),
    "save png page": Goal(at_least=2, column="before", width=1920),
    "reduce 20": Goal(at_least=2, column="stock"),
    "thumbnail 32": Goal(at_least=2, column="stock"),
    "median 3": Goal(at_least=0.9, column="opencv"),
    "median 5": Goal(at_least=0.9, column="opencv"),
    "max 3": Goal(at_least=0.9, column="opencv"),
    "hue": Goal(at_least=2.5, column="before"),
    "RGB->YCbCr": Goal(at_least=2, column="stock"),
    "YCbCr->RGB": Goal(at_least=2, column="stock"),
    **dict.fromkeys(("gaussian r2", "gaussian r5", "box blur r2", "unsharp 2"), Goal(at_least=2, column="before")),
    **dict.fromkeys(
        ("invert", "posterize", "solarize", "point table RGB", "point table L"), Goal(at_least=3, column="before")
    ),
    **dict.fromkeys(("histogram", "getextrema", "autocontrast", "equalize"), Goal(at_least=2, column="before")),
    **dict.fromkeys(("brightness", "contrast", "saturation"), Goal(at_least=1.6, column="before")),
    **dict.fromkeys(("chops add", "chops multiply", "chops difference"), Goal(at_least=2, column="before")),
    **dict.fromkeys(("paste mask", "fill by a mask"), Goal(at_least=2, column="before")),
    **dict.fromkeys(("getcolors", "quantize median cut"), Goal(at_least=2, column="before")),
}
