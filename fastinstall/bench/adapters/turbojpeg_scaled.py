"""PyTurboJPEG's scaled decoding, at 1/2, 1/4 or 1/8 of the size: the fractions with SIMD code in libjpeg-turbo."""

from __future__ import annotations

from . import pillow, turbojpeg

NAME = "turbojpeg-scaled"
TITLE = "PyTurboJPEG, scaled decoding, resized by Pillow"
MODULES = ("numpy", "turbojpeg", "PIL")
BRINGS = turbojpeg.BRINGS
SDISTS = turbojpeg.SDISTS
FORMATS = ("JPEG",)
SCALES = 2
CODE = "TurboJPEG().decode(data, pixel_format=TJPF_RGB, scaling_factor=(1, 4))  # 2, 4 or 8"
LOADER = (
    """
from pathlib import Path

import numpy
from PIL import Image
from turbojpeg import TJPF_RGB, TurboJPEG

DECODER = TurboJPEG()


def load(path):
    data = Path(path).read_bytes()
    times = min(DECODER.decode_header(data)[:2]) // SHORTER
    factor = next((each for each in (8, 4, 2) if each <= times), 1)
    array = DECODER.decode(data, pixel_format=TJPF_RGB, scaling_factor=(1, factor))
    return numpy.asarray(finished(Image.fromarray(array)))
"""
    + pillow.FINISHED
)

trouble = turbojpeg.trouble
