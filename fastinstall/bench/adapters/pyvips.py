"""libvips' thumbnail: it decodes JPEG and WebP at a fraction of the size and resizes at once, on one thread here.

Its kernel is Lanczos, whatever the filter is called; `thumbnail` takes no other. Its cache is off: a picture that is
kept would not be decoded again, and none comes twice soon. Its threads do not survive a fork: a process that has
loaded a picture cannot fork workers that load any.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Dict

from . import _arrays

NAME = "pyvips"
TITLE = "libvips, thumbnail"
MODULES = ("numpy", "pyvips")
BRINGS = ("pyvips[binary]>=2.2.3", "numpy")
SDISTS = ("pyvips",)
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF")
PRIORITY = 130
CODE = "pyvips.Image.thumbnail(path, width, height=height, no_rotate=True).numpy()"
LOADER = """
import os

os.environ["VIPS_CONCURRENCY"] = "1"  # a DataLoader's worker has one CPU; load nothing before the workers start

import pyvips

pyvips.cache_set_max(0)


def load(path):
    opened = pyvips.Image.new_from_file(path)  # reads the header alone
    scale = SHORTER / min(opened.width, opened.height)
    width, height = max(1, round(opened.width * scale)), max(1, round(opened.height * scale))
    image = pyvips.Image.thumbnail(path, width, height=height, size="force", no_rotate=True)
    if CROP:
        image = image.crop((width - CROP) // 2, (height - CROP) // 2, CROP, CROP)
    if image.hasalpha():
        image = image[: image.bands - 1]
    return image.colourspace("srgb").cast("uchar").numpy()
"""


def versions() -> Dict[str, str]:
    import numpy as np
    import pyvips

    library = "%d.%d.%d" % tuple(pyvips.version(each) for each in range(3))
    return {"pyvips": pyvips.__version__, "libvips": library, "numpy": np.__version__}


def trouble() -> str:
    """Why the library behind it cannot be used; pyvips looks for it when it is imported."""
    os.environ["VIPS_CONCURRENCY"] = "1"
    try:
        import pyvips  # noqa: F401 (whether it is there)
    except Exception as error:  # noqa: BLE001 (whatever it raises is the reason)
        return "no libvips for pyvips: %s" % str(error).split("  ")[0]
    return ""


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    os.environ["VIPS_CONCURRENCY"] = "1"
    import pyvips

    pyvips.cache_set_max(0)
    return [("decode", partial(thumbnail, pyvips.Image, wanted["shorter"], wanted["crop"]))]


def thumbnail(Image: Any, shorter: int, side: int, data: bytes) -> Any:  # noqa: N803 (a class)
    """All at once: libvips computes nothing before the pixels are asked for."""
    opened = Image.new_from_buffer(data, "")
    height, width = _arrays.size_after(opened.height, opened.width, shorter)
    image = Image.thumbnail_buffer(data, width, height=height, size="force", no_rotate=True)
    if side:
        top, left = _arrays.middle(height, width, side)
        image = image.crop(left, top, side, side)
    if image.hasalpha():
        image = image[: image.bands - 1]
    return image.colourspace("srgb").cast("uchar").numpy()
