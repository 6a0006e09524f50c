"""PyTurboJPEG: the system's libturbojpeg through ctypes. It only decodes; Pillow, which is installed anyway, resizes.

On large photos that gains little: `Image.fromarray` copies every pixel, which takes as long as decoding saved. Version
1 is fetched: it works with the library of libjpeg-turbo 2 and 3, version 2 only with the latter.
"""

from __future__ import annotations

from . import pillow

NAME = "turbojpeg"
TITLE = "PyTurboJPEG, resized by Pillow"
MODULES = ("numpy", "turbojpeg", "PIL")
BRINGS = ("PyTurboJPEG<2", "numpy")
SDISTS = ("pyturbojpeg",)
FORMATS = ("JPEG",)
PRIORITY = 110
CODE = "Image.fromarray(TurboJPEG().decode(data, pixel_format=TJPF_RGB))"
LOADER = (
    """
from pathlib import Path

import numpy
from PIL import Image
from turbojpeg import TJPF_RGB, TurboJPEG

DECODER = TurboJPEG()


def load(path):
    return numpy.asarray(finished(Image.fromarray(DECODER.decode(Path(path).read_bytes(), pixel_format=TJPF_RGB))))
"""
    + pillow.FINISHED
)


def trouble() -> str:
    """Return why its library cannot be used: PyTurboJPEG 1 and 2 need different ones, and bundle none."""
    import turbojpeg

    try:
        turbojpeg.TurboJPEG()
    except Exception as error:  # noqa: BLE001 (whatever it raises is the reason)
        reason = " ".join(str(error).split("\n\n")[0].split()) or type(error).__name__
        return "no libturbojpeg that suits this PyTurboJPEG: %s" % reason
    return ""
