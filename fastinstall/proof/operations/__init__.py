"""The operations of PIL that are timed, by name: those that training pipelines and web services use.

`_worker.py` imports this package inside a target, on Python 3.8 or later; it needs only the standard library and PIL.
Each module has `PARTS`, a list of functions that return operations by name; an operation is a function without
arguments. The functions in `PARTS` have two parameters: the pictures of 1920 x 1080 and those of 500 x 375, by mode.
"""

from typing import Any, Callable, Dict

Pictures = Dict[str, Any]
Calls = Dict[str, Callable[[], Any]]
WIDTH, HEIGHT = 1920, 1080
SMALL = (500, 375)
FILTERS = {"box": 4, "bilinear": 2, "hamming": 5, "bicubic": 3, "lanczos": 1}


def operations(image: Any) -> Calls:
    """Return every operation by name.

    Args:
        image: the photo to work on, in mode RGB, 1920 x 1080; the pictures of other modes and sizes are made from it.
    """
    from PIL import Image

    from . import changing, coding, further

    big = {mode: image.convert(mode) for mode in ("L", "RGB", "RGBA", "CMYK")}
    big["RGBA"].putalpha(Image.radial_gradient("L").resize(image.size))
    small = {mode: picture.resize(SMALL, 3) for mode, picture in big.items()}
    found: Calls = {}
    for module in (coding, changing, further):
        for part in module.PARTS:
            found.update(part(big, small))
    return found
