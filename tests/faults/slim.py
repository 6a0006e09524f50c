"""Reduces wheels of Pillow to the few files that the checks of a setup need.

These are the core with its libraries, and the modules that PIL needs to be imported, to compute, and to write and read
JPEG, PNG and TIFF. With so few files, only some hundreds of runs are needed to try a fault at each call of a setup.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core.archives import unpack_zip
from fastinstall.wheelbuild.wheel_files import pack_wheel

_MODULES = frozenset(
    {
        *("__init__", "_binary", "_deprecate", "_imaging", "_typing", "_util", "_version", "features"),
        *("ExifTags", "Image", "ImageChops", "ImageColor", "ImageDraw", "ImageEnhance", "ImageFile", "ImageFilter"),
        *("ImageFont", "ImageMode", "ImageOps", "ImageStat", "ImageText"),
        *("ImagePalette", "ImageSequence", "GimpGradientFile", "GimpPaletteFile", "PaletteFile"),
        *("JpegImagePlugin", "JpegPresets", "PngImagePlugin", "TiffImagePlugin", "TiffTags"),
    }
)
_LIBRARIES = ("_imaging_core", "jpeg", "tiff", "openjp2", "xcb", "Xau", "lzma", "zstd")
"""Libraries that the core loads, directly or indirectly."""


def repack(wheel: Path, directory: Path) -> Path:
    """Pack a wheel again with only the needed files; return the new wheel.

    Args:
        wheel: a wheel of Pillow.
        directory: the directory for the new wheel, which keeps its name; created if missing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tree = directory / "tree"
    unpack_zip(wheel, tree)
    for path in [*_list_needless(tree)]:
        path.unlink()
    pack_wheel(tree, directory / wheel.name)
    shutil.rmtree(tree)
    return directory / wheel.name


def _list_needless(tree: Path) -> Iterator[Path]:
    yield from tree.glob("*.dist-info/licenses/*")
    for path in tree.glob("PIL/*"):
        if path.name.partition(".")[0] not in _MODULES or path.suffix == ".pyi":
            yield path
    for path in tree.glob("pillow.libs/**/*.so*"):
        if not path.name.removeprefix("lib").startswith(_LIBRARIES):
            yield path
