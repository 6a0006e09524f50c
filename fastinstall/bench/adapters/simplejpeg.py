"""simplejpeg: a thin binding with its own libjpeg-turbo; Pillow does the rest."""

from . import pillow

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
