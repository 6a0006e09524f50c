"""What is timed: every operation of PIL that pipelines for training and web services use, by name.

Runs inside a target, as a package of `_worker.py`: standard library only at import, Python 3.8 or later. A module here
has functions from pictures of 1920 x 1080 and of 500 x 375, by mode, to operations: calls without arguments.
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
        image: a photograph, RGB, 1920 x 1080.
    """
    from PIL import Image

    from . import changing, coding, combining, further, resizing

    big = {mode: image.convert(mode) for mode in ("L", "RGB", "RGBA", "CMYK")}
    big["RGBA"].putalpha(Image.radial_gradient("L").resize(image.size))
    small = {mode: picture.resize(SMALL, 3) for mode, picture in big.items()}
    found: Calls = {}
    for module in (coding, resizing, changing, combining, further):
        for part in module.PARTS:
            found.update(part(big, small))
    return found
