"""libvips' thumbnail on one thread: JPEG and WebP are decoded at a fraction of the size, then resized.

The filter is always Lanczos, because `thumbnail` has no other; the requested filter is ignored. The cache is off: in
training the same picture does not come back soon, and a measurement must decode it again each time. `fail_on` turns a
failed decoding into an error. Otherwise libvips returns a black picture, for example for a TIFF with a compression that
libvips was built without. The threads of libvips do not survive a fork, so a process that has loaded a picture cannot
fork workers that load pictures.
"""

import os
from typing import Dict

TITLE = "libvips, thumbnail"
MODULES = ("numpy", "pyvips")
BRINGS = ("pyvips[binary]>=2.2.3", "numpy")
SDISTS = ("pyvips",)
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF")
PRIORITY = 130
CODE = 'pyvips.Image.thumbnail(path, width, height=height, no_rotate=True, fail_on="error").numpy()'
LOADER = """
import os

os.environ["VIPS_CONCURRENCY"] = "1"  # a DataLoader's worker has one CPU; start the workers before loading anything

import pyvips

pyvips.cache_set_max(0)


def load(path):
    opened = pyvips.Image.new_from_file(path)  # only reads the header
    scale = SHORTER / min(opened.width, opened.height)
    width, height = max(1, round(opened.width * scale)), max(1, round(opened.height * scale))
    image = pyvips.Image.thumbnail(path, width, height=height, size="force", no_rotate=True, fail_on="error")
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
    """Return why libvips cannot be used; empty if it can. The check imports pyvips, which then searches for libvips."""
    os.environ["VIPS_CONCURRENCY"] = "1"
    try:
        import pyvips  # noqa: F401 (only to see whether the import works)
    except Exception as error:  # noqa: BLE001 (any exception is the reason)
        return "no libvips for pyvips: %s" % str(error).split("  ")[0]
    return ""
