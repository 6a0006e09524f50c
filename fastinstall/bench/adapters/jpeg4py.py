"""jpeg4py: the system's libturbojpeg through cffi. It only decodes; Pillow does the rest."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import _arrays, pillow

NAME = "jpeg4py"
TITLE = "jpeg4py, resized by Pillow"
MODULES = ("numpy", "jpeg4py", "PIL")
BRINGS = ("jpeg4py", "numpy")
SDISTS = ("jpeg4py",)
FORMATS = ("JPEG",)
CODE = "Image.fromarray(jpeg4py.JPEG(path).decode())"
LOADER = (
    """
import jpeg4py
import numpy
from PIL import Image


def load(path):
    return numpy.asarray(finished(Image.fromarray(jpeg4py.JPEG(path).decode())))
"""
    + pillow.FINISHED
)


def trouble() -> str:
    """Return why its library cannot be used; the library is loaded when a picture is opened."""
    import jpeg4py
    import numpy as np

    try:
        jpeg4py.JPEG(np.zeros(1, np.uint8))
    except Exception as error:  # noqa: BLE001 (whatever it raises is the reason)
        return "no libturbojpeg for jpeg4py: %s" % error
    return ""


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    import jpeg4py
    import numpy as np

    return [("decode", partial(decode, jpeg4py, np)), *_arrays.by_pillow(wanted)]


def decode(jpeg4py: Any, np: Any, data: bytes) -> Any:
    return jpeg4py.JPEG(np.frombuffer(data, np.uint8)).decode()
