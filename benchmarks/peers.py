"""Do the operations of `rows.py` with other libraries, whose pixels may differ from Pillow's.

A library has only some of the rows. All arrays are RGB. OpenCV's functions depend on the order of bands only when they
read or write files.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from rows import CROP, FILTERS, GAMMA, LENS, SPIN, STRENGTH, TURN_OF_HUE, Call, Calls, Pictures, enlarged, normalise

LEVELS = np.arange(256)
SOLAR = np.where(LEVELS < 0x80, LEVELS, 255 - LEVELS).astype("u1")
TURN = np.dstack([(LEVELS + TURN_OF_HUE) % 256, LEVELS, LEVELS]).astype("u1").reshape(256, 1, 3)
SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], "f4") / 13


class OpenCv:
    """The rows of OpenCV. Its filters do not antialias when they shrink a picture, so areas are averaged instead."""

    def __init__(self, p: Pictures) -> None:
        self._cv2 = importlib.import_module("cv2")
        self._cv2.setNumThreads(1)
        self._p = p
        self._color = self._cv2.IMREAD_COLOR_RGB

    def calls(self) -> Calls:
        return {
            **self.reading(),
            **self.writing(),
            **self.resizing(),
            **self.transforming(),
            **self.filtering(),
            **self.recolouring(),
            **self.converting(),
            **self.combining(),
        }

    def reading(self) -> Calls:
        p, read = self._p, self.read
        left, top = (p.small[0] - 224) // 2, (p.small[1] - 224) // 2
        middle = (slice(top, top + 224), slice(left, left + 224))
        area = self._cv2.INTER_AREA
        return {
            "jpeg load": lambda: read(p.jpeg),
            "jpeg->array": lambda: read(p.jpeg),
            "jpeg decode 1/4 (draft)": lambda: read(p.jpeg, self._cv2.IMREAD_REDUCED_COLOR_4),
            "jpeg -> thumbnail 256": self.thumbnail,
            "jpeg, to 256, crop 224, array": lambda: np.ascontiguousarray(
                self._cv2.resize(read(p.jpeg), p.small, interpolation=area)[middle]
            ),
            "vlm: jpeg, bicubic 0.6, norm": lambda: self.prepare_for_vision(p.jpeg),
            "vlm: png, bicubic 0.6, norm": lambda: self.prepare_for_vision(p.png),
            "simclr": self.simclr,
            "randaugment": self.randaugment,
            "png->array": lambda: read(p.png),
            "png page->array": lambda: read(p.png_page),
            "webp->array": lambda: read(p.webp),
            "tiff raw->array": lambda: read(p.tiff_raw),
            "tiff lzw->array": lambda: read(p.tiff_lzw),
            "tiff deflate->array": lambda: read(p.tiff_deflate),
            "avif->array": lambda: read(p.avif),
        }

    def writing(self) -> Calls:
        p, write, cv2 = self._p, self.write, self._cv2
        return {
            "jpeg -> thumb -> webp": lambda: write(".webp", self.thumbnail(), cv2.IMWRITE_WEBP_QUALITY, 80),
            "jpeg -> thumb -> jpeg": lambda: write(".jpg", self.thumbnail(), cv2.IMWRITE_JPEG_QUALITY, 85),
            "save jpeg q90": lambda: write(".jpg", p.array, cv2.IMWRITE_JPEG_QUALITY, 90),
            "save jpeg q75": lambda: write(".jpg", p.array, cv2.IMWRITE_JPEG_QUALITY, 75),
            "save png level 1": lambda: write(".png", p.array, cv2.IMWRITE_PNG_COMPRESSION, 1),
            "save png default": lambda: write(".png", p.array),
            "save png page": lambda: write(".png", p.array_of("page")),
            "save png RGBA default": lambda: write(".png", p.array_of("rgba")),
            "save webp q80": lambda: write(".webp", p.array, cv2.IMWRITE_WEBP_QUALITY, 80),
            "save tiff lzw": lambda: write(".tiff", p.array, cv2.IMWRITE_TIFF_COMPRESSION, 5),
            "save tiff raw": lambda: write(".tiff", p.array, cv2.IMWRITE_TIFF_COMPRESSION, 1),
            "save bmp": lambda: write(".bmp", p.array),
            "save avif speed 8": lambda: write(".avif", p.array, cv2.IMWRITE_AVIF_SPEED, 8),
        }

    def resizing(self) -> Calls:
        p, cv2 = self._p, self._cv2
        up = enlarged(p.size, 1.5)

        def resize(size: tuple[int, int], how: int) -> Call:
            return lambda: cv2.resize(p.array, size, interpolation=how)

        return {
            "resize down box": resize(p.small, cv2.INTER_AREA),
            "resize down nearest": resize(p.small, cv2.INTER_NEAREST_EXACT),
            "resize up nearest": resize(up, cv2.INTER_NEAREST_EXACT),
            "resize up bilinear": resize(up, cv2.INTER_LINEAR),
            "resize up bicubic": resize(up, cv2.INTER_CUBIC),
            "resize up lanczos": resize(up, cv2.INTER_LANCZOS4),
            "resize half bicubic": resize(enlarged(p.size, 1 / 2), cv2.INTER_AREA),
            "reduce 2": resize(enlarged(p.size, 1 / 2), cv2.INTER_AREA),
            "reduce 4": resize(enlarged(p.size, 1 / 4), cv2.INTER_AREA),
            "reduce 20": resize(enlarged(p.size, 1 / 20), cv2.INTER_AREA),
            "crop+resize 224 bicubic": lambda: cv2.resize(self.cut(), (224, 224), interpolation=cv2.INTER_AREA),
        }

    def transforming(self) -> Calls:
        p, cv2 = self._p, self._cv2
        ways = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}
        turn = cv2.getRotationMatrix2D(((p.width - 1) / 2, (p.height - 1) / 2), 7, 1)
        spin, lens = np.array(SPIN).reshape(2, 3), np.array((*LENS, 1.0)).reshape(3, 3)

        def affine(matrix: Any, how: int) -> Call:
            return lambda: cv2.warpAffine(p.array, matrix, p.size, flags=how)

        def perspective(how: int) -> Call:
            return lambda: cv2.warpPerspective(p.array, lens, p.size, flags=how | cv2.WARP_INVERSE_MAP)

        return {
            **{f"rotate 7 {name}": affine(turn, how) for name, how in ways.items()},
            "affine bilinear": affine(spin, cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP),
            "affine bicubic": affine(spin, cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP),
            "perspective bilinear": perspective(cv2.INTER_LINEAR),
            "perspective bicubic": perspective(cv2.INTER_CUBIC),
            "flip left right": lambda: cv2.flip(p.array, 1),
            "flip top bottom": lambda: cv2.flip(p.array, 0),
            "rotate 90": lambda: cv2.rotate(p.array, cv2.ROTATE_90_COUNTERCLOCKWISE),
            "rotate 180": lambda: cv2.rotate(p.array, cv2.ROTATE_180),
        }

    def filtering(self) -> Calls:
        p, cv2 = self._p, self._cv2
        square: Any = np.full((3, 3), 1, "u1")
        kernels = {
            "filter SHARPEN 3x3": ((-2, -2, -2), (-2, 32, -2), (-2, -2, -2)),
            "filter DETAIL 3x3": ((0, -1, 0), (-1, 10, -1), (0, -1, 0)),
            "filter SMOOTH_MORE 5x5": ((1,) * 5, (1, 5, 5, 5, 1), (1, 5, 44, 5, 1), (1, 5, 5, 5, 1), (1,) * 5),
        }

        def convolve(weights: tuple[tuple[int, ...], ...]) -> Call:
            kernel = np.array(weights, "f4") / np.sum(weights)
            return lambda: cv2.filter2D(p.array, -1, kernel)

        return {
            **{name: convolve(weights) for name, weights in kernels.items()},
            "gaussian r2": lambda: cv2.GaussianBlur(p.array, (0, 0), 2),
            "gaussian r5": lambda: cv2.GaussianBlur(p.array, (0, 0), 5),
            "box blur r2": lambda: cv2.blur(p.array, (5, 5), borderType=cv2.BORDER_REPLICATE),
            "median 3": lambda: cv2.medianBlur(p.array, 3),
            "median 5": lambda: cv2.medianBlur(p.array, 5),
            "max 3": lambda: cv2.dilate(p.array, square, borderType=cv2.BORDER_REPLICATE),
            "unsharp 2": lambda: cv2.addWeighted(p.array, 2.5, cv2.GaussianBlur(p.array, (0, 0), 2), -1.5, 0),
        }

    def recolouring(self) -> Calls:
        p, cv2 = self._p, self._cv2
        gray, gamma = p.array_of("gray"), np.array(GAMMA, "u1")
        return {
            "brightness": lambda: self.brighten(p.array),
            "contrast": lambda: self.contrast(p.array),
            "saturation": lambda: self.saturate(p.array),
            "sharpness": lambda: self.sharpen(p.array),
            "hue": lambda: self.shift_hue(p.array),
            "autocontrast": self.stretch,
            "equalize": lambda: self.equalize(p.array),
            "posterize": lambda: cv2.bitwise_and(p.array, (0xF0, 0xF0, 0xF0, 0)),
            "solarize": lambda: cv2.LUT(p.array, SOLAR),
            "invert": lambda: cv2.bitwise_not(p.array),
            "point table RGB": lambda: cv2.LUT(p.array, gamma),
            "point table L": lambda: cv2.LUT(gray, gamma),
            "histogram": lambda: [cv2.calcHist([p.array], [band], None, [256], [0, 256]) for band in range(3)],
            "getextrema": lambda: [cv2.minMaxLoc(band)[:2] for band in cv2.split(p.array)],
            "stat mean": lambda: cv2.mean(p.array),
        }

    def converting(self) -> Calls:
        p, cv2 = self._p, self._cv2
        bands = [np.asarray(band) for band in p.bands]

        def convert(name: str, code: int) -> Call:
            return lambda: cv2.cvtColor(p.array_of(name), code)

        return {
            "split": lambda: cv2.split(p.array),
            "merge": lambda: cv2.merge(bands),
            "getchannel": lambda: cv2.extractChannel(p.array, 1),
            "RGB->L": convert("rgb", cv2.COLOR_RGB2GRAY),
            "L->RGB": convert("gray", cv2.COLOR_GRAY2RGB),
            "RGB->RGBA": convert("rgb", cv2.COLOR_RGB2RGBA),
            "RGBA->RGB": convert("rgba", cv2.COLOR_RGBA2RGB),
            "RGB->HSV": convert("rgb", cv2.COLOR_RGB2HSV_FULL),
            "HSV->RGB": convert("hsv", cv2.COLOR_HSV2RGB_FULL),
            "RGB->YCbCr": convert("rgb", cv2.COLOR_RGB2YCrCb),
            "YCbCr->RGB": convert("ycbcr", cv2.COLOR_YCrCb2RGB),
            "RGB->LAB (cms)": convert("rgb", cv2.COLOR_RGB2LAB),
        }

    def combining(self) -> Calls:
        p, cv2 = self._p, self._cv2
        other = p.array_of("other")
        shares = cv2.merge([p.array_of("mask")] * 3)
        return {
            "blend": lambda: cv2.addWeighted(p.array, 0.6, other, 0.4, 0),
            "composite": lambda: cv2.add(
                cv2.multiply(p.array, shares, scale=1 / 255), cv2.multiply(other, 255 - shares, scale=1 / 255)
            ),
            "chops add": lambda: cv2.add(p.array, other),
            "chops multiply": lambda: cv2.multiply(p.array, other, scale=1 / 255),
            "chops difference": lambda: cv2.absdiff(p.array, other),
            "copy": p.array.copy,
        }

    def read(self, data: bytes, how: int | None = None) -> Any:
        return self._cv2.imdecode(np.frombuffer(data, "u1"), self._color if how is None else how)

    def write(self, ending: str, picture: Any, *options: int) -> bytes:
        data: bytes = self._cv2.imencode(ending, picture, options)[1].tobytes()
        return data

    def thumbnail(self) -> Any:
        """Return a thumbnail of the JPEG, decoded at a reduced scale of at least twice the thumbnail's size."""
        reduced = next((factor for factor in (8, 4, 2) if self._p.width >= 512 * factor), 1)
        how = getattr(self._cv2, f"IMREAD_REDUCED_COLOR_{reduced}" if reduced > 1 else "IMREAD_COLOR")
        size = enlarged(self._p.size, 256 / max(self._p.size))
        return self._cv2.resize(self.read(self._p.jpeg, how), size, interpolation=self._cv2.INTER_AREA)

    def prepare_for_vision(self, data: bytes) -> Any:
        size = enlarged(self._p.size, 0.6)
        return normalise(self._cv2.resize(self.read(data), size, interpolation=self._cv2.INTER_CUBIC))

    def cut(self) -> Any:
        """Return the part of the photograph that a random crop takes."""
        left, top, right, bottom = (int(share * side) for share, side in zip(CROP, 2 * self._p.size, strict=True))
        return self._p.array[top:bottom, left:right]

    def random_crop(self) -> Any:
        return self._cv2.resize(self.cut(), (224, 224), interpolation=self._cv2.INTER_CUBIC)

    def simclr(self) -> Any:
        crop = self.contrast(self.brighten(self._cv2.flip(self.random_crop(), 1)))
        return self._cv2.GaussianBlur(self.shift_hue(self.saturate(crop)), (0, 0), 1.5)

    def randaugment(self) -> Any:
        cv2 = self._cv2
        shear = np.array([[1, 0.15, 0], [0, 1, 0]])
        turn = cv2.getRotationMatrix2D((111.5, 111.5), 15, 1)
        crop = cv2.warpAffine(self.random_crop(), shear, (224, 224), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
        crop = self.sharpen(self.saturate(cv2.warpAffine(crop, turn, (224, 224), flags=cv2.INTER_LINEAR)))
        return cv2.LUT(self.equalize(crop), SOLAR)

    def brighten(self, picture: Any) -> Any:
        return self._cv2.convertScaleAbs(picture, alpha=STRENGTH)

    def contrast(self, picture: Any) -> Any:
        mean = int(self._cv2.mean(self._cv2.cvtColor(picture, self._cv2.COLOR_RGB2GRAY))[0] + 0.5)
        return self._cv2.convertScaleAbs(picture, alpha=STRENGTH, beta=(1 - STRENGTH) * mean)

    def saturate(self, picture: Any) -> Any:
        gray = self._cv2.cvtColor(picture, self._cv2.COLOR_RGB2GRAY)
        return self._cv2.addWeighted(
            picture, STRENGTH, self._cv2.cvtColor(gray, self._cv2.COLOR_GRAY2RGB), 1 - STRENGTH, 0
        )

    def sharpen(self, picture: Any) -> Any:
        return self._cv2.addWeighted(picture, STRENGTH, self._cv2.filter2D(picture, -1, SMOOTH), 1 - STRENGTH, 0)

    def shift_hue(self, picture: Any) -> Any:
        hsv = self._cv2.LUT(self._cv2.cvtColor(picture, self._cv2.COLOR_RGB2HSV_FULL), TURN)
        return self._cv2.cvtColor(hsv, self._cv2.COLOR_HSV2RGB_FULL)

    def equalize(self, picture: Any) -> Any:
        return self._cv2.merge([self._cv2.equalizeHist(band) for band in self._cv2.split(picture)])

    def stretch(self) -> Any:
        """Return the photograph with the values of each band stretched to 0 to 255."""
        tables = []
        for band in range(3):
            counts = self._cv2.calcHist([self._p.array], [band], None, [256], [0, 256]).ravel()
            low, high = np.flatnonzero(counts)[[0, -1]]
            scale = 255 / max(int(high) - int(low), 1)
            tables.append(np.clip(np.trunc(LEVELS * scale - int(low) * scale), 0, 255))
        return self._cv2.LUT(self._p.array, np.array(tables, "u1").T.reshape(256, 1, 3))


def simplejpeg(p: Pictures) -> Calls:
    """Return the rows of simplejpeg, which reads and writes JPEG with libjpeg-turbo."""
    library = importlib.import_module("simplejpeg")

    def write(quality: int) -> bytes:
        data: bytes = library.encode_jpeg(p.array, quality=quality, colorspace="RGB", colorsubsampling="420")
        return data

    return {
        "jpeg load": lambda: library.decode_jpeg(p.jpeg, "RGBX"),
        "jpeg->array": lambda: library.decode_jpeg(p.jpeg),
        "jpeg decode 1/4 (draft)": lambda: library.decode_jpeg(
            p.jpeg, min_width=p.width // 4, min_height=p.height // 4, min_factor=4
        ),
        "save jpeg q90": lambda: write(90),
        "save jpeg q75": lambda: write(75),
    }


def kornia(p: Pictures) -> Calls:
    """Return the rows of kornia-rs, on the CPU."""
    library = importlib.import_module("kornia_rs")
    images, files = library.imgproc, library.io
    up = enlarged(p.size, 1.5)
    shape = (p.height, p.width)

    def resize(size: tuple[int, int], way: str) -> Call:
        return lambda: images.resize(p.array, (size[1], size[0]), way)

    return {
        "jpeg->array": lambda: files.decode_image_jpegturbo(p.jpeg, "rgb"),
        "png->array": lambda: files.decode_image_png_u8(p.png, shape, "rgb"),
        "png page->array": lambda: files.decode_image_png_u8(p.png_page, shape, "rgb"),
        "resize down nearest": resize(p.small, "nearest"),
        "resize up nearest": resize(up, "nearest"),
        "resize down bilinear": resize(p.small, "bilinear"),
        "resize down bicubic": resize(p.small, "bicubic"),
        "resize down lanczos": resize(p.small, "lanczos"),
        "affine bilinear": lambda: images.warp_affine(p.array, list(SPIN), shape, "bilinear"),
        "flip left right": lambda: images.horizontal_flip(p.array),
        "flip top bottom": lambda: images.vertical_flip(p.array),
        "RGB->L": lambda: images.gray_from_rgb(p.array),
    }


def cykooz(p: Pictures) -> Calls:
    """Return the rows of cykooz-resizer, which only resizes; source and target memory are allocated once."""
    library = importlib.import_module("cykooz_resizer")
    ways = {"box": "box", "bilinear": "bilinear", "bicubic": "catmull_rom", "lanczos": "lanczos3"}
    kinds = {"RGB": library.PixelType.U8x3, "RGBA": library.PixelType.U8x4, "L": library.PixelType.U8}
    resizer = library.Resizer()

    def resize(source: Callable[[], Image.Image], size: tuple[int, int], name: str) -> Call:
        kept: list[Any] = []

        def call() -> Any:
            if not kept:
                picture = source()
                data = library.ImageData(*picture.size, kinds[picture.mode], picture.tobytes())
                way = library.ResizeAlg.convolution(getattr(library.FilterType, ways[name]))
                options = library.ResizeOptions(resize_alg=way, use_alpha=picture.mode == "RGBA")
                kept.extend((data, library.ImageData(*size, kinds[picture.mode]), options))
            return resizer.resize(*kept)

        return call

    half = enlarged(p.size, 0.5)
    return {
        **{f"resize down {name}": resize(lambda: p.rgb, p.small, name) for name in FILTERS},
        **{f"resize up {name}": resize(lambda: p.rgb, enlarged(p.size, 1.5), name) for name in FILTERS},
        "resize down lanczos RGBA": resize(lambda: p.rgba, p.small, "lanczos"),
        "resize down lanczos L": resize(lambda: p.gray, p.small, "lanczos"),
        "resize half bicubic": resize(lambda: p.rgb, half, "bicubic"),
    }


def pyvips(p: Pictures) -> Calls:
    """Return the rows of libvips; as it computes lazily, each call writes its result to memory."""
    library = importlib.import_module("pyvips")
    library.cache_set_max(0)
    photo = library.Image.new_from_memory(p.rgb.tobytes(), p.width, p.height, 3, "uchar").copy(interpretation="srgb")
    with_alpha = [
        library.Image.new_from_memory(picture.tobytes(), p.width, p.height, 4, "uchar").copy(interpretation="srgb")
        for picture in (p.rgba, p.other_rgba)
    ]

    def read(data: bytes) -> Any:
        return end(library.Image.new_from_buffer(data, ""))

    def end(picture: Any) -> Any:
        return np.frombuffer(picture.write_to_memory(), "u1").reshape(picture.height, picture.width, picture.bands)

    return {
        "tiff raw->array": lambda: read(p.tiff_raw),
        "tiff lzw->array": lambda: read(p.tiff_lzw),
        "tiff deflate->array": lambda: read(p.tiff_deflate),
        "png->array": lambda: read(p.png),
        "save png level 1": lambda: photo.pngsave_buffer(compression=1),
        "save png default": photo.pngsave_buffer,
        "save png RGBA default": with_alpha[0].pngsave_buffer,
        "save webp lossless": lambda: photo.webpsave_buffer(lossless=True, effort=1),
        "reduce 4": lambda: end(photo.shrink(4, 4)),
        "gaussian r2": lambda: end(photo.gaussblur(2)),
        "gaussian r5": lambda: end(photo.gaussblur(5)),
        "alpha_composite": lambda: end(with_alpha[0].composite2(with_alpha[1], "over").cast("uchar")),
    }


def imagecodecs(p: Pictures) -> Calls:
    """Return the rows of imagecodecs, which only reads and writes files."""
    library = importlib.import_module("imagecodecs")
    return {
        "webp->array": lambda: library.webp_decode(p.webp),
        "avif->array": lambda: library.avif_decode(p.avif, numthreads=1),
        "png->array": lambda: library.png_decode(p.png),
        "save jpeg q90": lambda: library.jpeg8_encode(p.array, level=90, subsampling="420"),
        "save jpeg q75": lambda: library.jpeg8_encode(p.array, level=75, subsampling="420"),
        "save png default": lambda: library.png_encode(p.array),
        "save png RGBA default": lambda: library.png_encode(p.array_of("rgba")),
        "save webp q80": lambda: library.webp_encode(p.array, level=80, numthreads=1),
        "save avif speed 8": lambda: library.avif_encode(p.array, level=75, speed=8, numthreads=1),
    }


def fpng(p: Pictures) -> Calls:
    """Return the rows of fpng, which writes PNG with precomputed Huffman tables."""
    library = importlib.import_module("fpng")
    return {
        "save png level 1": lambda: library.from_ndarray(p.array),
        "save png default": lambda: library.from_ndarray(p.array),
        "save png page": lambda: library.from_ndarray(p.array_of("page")),
        "save png RGBA default": lambda: library.from_ndarray(p.array_of("rgba")),
    }


PEERS: dict[str, Callable[[Pictures], Calls]] = {
    "opencv": lambda p: OpenCv(p).calls(),
    "simplejpeg": simplejpeg,
    "kornia": kornia,
    "cykooz": cykooz,
    "pyvips": pyvips,
    "imagecodecs": imagecodecs,
    "fpng": fpng,
}
"""The rows of each library, by its column's name."""
