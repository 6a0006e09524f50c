"""simplejpeg: a thin binding with its own libjpeg-turbo; Pillow does the rest."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import _arrays, pillow

NAME = "simplejpeg"
TITLE = "simplejpeg, resized by Pillow"
MODULES = ("numpy", "simplejpeg", "PIL")
BRINGS = ("simplejpeg", "numpy")
FORMATS = ("JPEG",)
PRIORITY = 80
CODE = "Image.fromarray(simplejpeg.decode_jpeg(data))"
LOADER = (
    """
from pathlib import Path

import numpy
import simplejpeg
from PIL import Image


def load(path):
    return numpy.asarray(finished(Image.fromarray(simplejpeg.decode_jpeg(Path(path).read_bytes()))))
"""
    + pillow.FINISHED
)


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    import simplejpeg

    return [("decode", simplejpeg.decode_jpeg), *_arrays.by_pillow(wanted)]


def scaled(wanted: Dict[str, Any]) -> _arrays.Stages:
    """Return the stages with decoding to a fraction of the size, for `simplejpeg_scaled`."""
    import simplejpeg

    shorter = wanted["shorter"]
    decode = partial(simplejpeg.decode_jpeg, min_height=shorter, min_width=shorter, min_factor=2)
    return [("decode", decode), *_arrays.by_pillow(wanted)]
