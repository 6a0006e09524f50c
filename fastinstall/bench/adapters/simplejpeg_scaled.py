"""simplejpeg's scaled decoding: libjpeg-turbo decodes at a fraction of the size, the smallest that suffices.

Not by factors below two: then decoding the complete picture is faster. Source: simplejpeg's documentation.
"""

from . import pillow

NAME = "simplejpeg-scaled"
TITLE = "simplejpeg, scaled decoding, resized by Pillow"
MODULES = ("numpy", "simplejpeg", "PIL")
BRINGS = ("simplejpeg", "numpy")
FORMATS = ("JPEG",)
SCALES = 2
PRIORITY = 100
CODE = "simplejpeg.decode_jpeg(data, min_height=shorter, min_width=shorter, min_factor=2)"
LOADER = (
    """
from pathlib import Path

import numpy
import simplejpeg
from PIL import Image


def load(path):
    data = Path(path).read_bytes()
    array = simplejpeg.decode_jpeg(data, min_height=SHORTER, min_width=SHORTER, min_factor=2)
    return numpy.asarray(finished(Image.fromarray(array)))
"""
    + pillow.FINISHED
)
