"""imagecodecs: many bundled codecs; Pillow does the rest."""

from __future__ import annotations

from . import pillow

NAME = "imagecodecs"
TITLE = "imagecodecs, resized by Pillow"
MODULES = ("numpy", "imagecodecs", "PIL")
BRINGS = ("imagecodecs", "numpy")
FORMATS = ("JPEG", "PNG", "WEBP")
PRIORITY = 120
CODE = "Image.fromarray(imagecodecs.jpeg8_decode(data))  # png_decode, webp_decode"
LOADER = (
    """
from pathlib import Path

import imagecodecs
import numpy
from PIL import Image


def load(path):
    return numpy.asarray(finished(Image.fromarray(decoded(Path(path).read_bytes())).convert("RGB")))


def decoded(data):
    if data[:2] == b"\\xff\\xd8":
        return imagecodecs.jpeg8_decode(data)
    if data[:4] == b"RIFF":
        return imagecodecs.webp_decode(data)
    return imagecodecs.png_decode(data)
"""
    + pillow.FINISHED
)
