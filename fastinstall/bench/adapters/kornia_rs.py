"""kornia-rs: a decoder and a resize written in Rust. Its bilinear resize does not average merged pixels.

Its threads do not survive a fork: a process that has loaded a picture cannot fork workers that load some.
"""

from __future__ import annotations

NAME = "kornia-rs"
TITLE = "kornia-rs"
MODULES = ("numpy", "kornia_rs")
BRINGS = ("kornia-rs>=0.2", "numpy")
FORMATS = ("JPEG",)
ALIASED = True
PRIORITY = 140
CODE = 'kornia_rs.imgproc.resize(kornia_rs.io.decode_image_jpegturbo(data, "rgb"), (height, width), "bilinear")'
LOADER = """
import os
from pathlib import Path

import numpy

os.environ["RAYON_NUM_THREADS"] = "1"  # a DataLoader's worker has one CPU; start the workers before loading anything

from kornia_rs import imgproc, io


def load(path):
    image = io.decode_image_jpegturbo(Path(path).read_bytes(), "rgb")
    scale = SHORTER / min(image.shape[:2])
    height, width = (max(1, round(length * scale)) for length in image.shape[:2])
    image = imgproc.resize(image, (height, width), FILTER)
    if CROP:
        top, left = (height - CROP) // 2, (width - CROP) // 2
        image = image[top : top + CROP, left : left + CROP]
    return numpy.ascontiguousarray(image)
"""


def trouble() -> str:
    """Return why the installed one cannot be used: names moved with version 0.2."""
    import kornia_rs

    if not hasattr(getattr(kornia_rs, "io", None), "decode_image_jpegturbo"):
        return "kornia-rs %s is too old: install 0.2 or later" % kornia_rs.__version__
    return ""
