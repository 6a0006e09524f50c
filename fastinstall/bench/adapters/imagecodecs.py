"""imagecodecs: many bundled codecs; Pillow does the rest."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import _arrays, pillow

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


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    import imagecodecs

    return [("decode", partial(decode, imagecodecs)), *_arrays.by_pillow(wanted)]


def decode(imagecodecs: Any, data: bytes) -> Any:
    if data[:2] == b"\xff\xd8":
        return imagecodecs.jpeg8_decode(data)
    if data[:4] == b"RIFF":
        return imagecodecs.webp_decode(data)
    return imagecodecs.png_decode(data)
