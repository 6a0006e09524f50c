"""simplejpeg: a thin binding with its own libjpeg-turbo; Pillow does the rest."""

from . import pillow

NAME = "simplejpeg"
TITLE = "simplejpeg, resized by Pillow"
MODULES = ("numpy", "simplejpeg", "PIL")
BRINGS = ("simplejpeg", "numpy")
FORMATS = ("JPEG",)
PRIORITY = 80
CODE = "Image.fromarray(simplejpeg.decode_jpeg(data))"
LOADER = f"""
from pathlib import Path

import numpy
import simplejpeg
from PIL import Image


def load(path):
    array = simplejpeg.decode_jpeg(Path(path).read_bytes())
    return numpy.asarray(finished(Image.fromarray(array)))
{pillow.FINISHED}"""
