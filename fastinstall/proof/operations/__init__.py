"""Operations of PIL to be timed, by name: operations that training pipelines and web services use.

`_worker.py` imports this package inside a target, on Python 3.8 or later; it needs only the standard library and PIL.
Each module has `PARTS`, a list of functions. A function of `PARTS` takes pictures of 1920 x 1080 and pictures of
500 x 375, both by mode, and returns operations: functions without arguments, by name.
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

    from . import changing, coding, further

    big = {mode: image.convert(mode) for mode in ("L", "RGB", "RGBA", "CMYK")}
    big["RGBA"].putalpha(Image.radial_gradient("L").resize(image.size))
    small = {mode: picture.resize(SMALL, 3) for mode, picture in big.items()}
    found: Calls = {}
    for module in (coding, changing, further):
        for part in module.PARTS:
            found.update(part(big, small))
    return found
