"""Pillow as most loaders use it: decode completely, convert to RGB, resize, crop the centre."""

import io
from functools import partial
from operator import methodcaller
from typing import Any, Callable, Dict, List, Tuple

NAME = "pillow"
TITLE = "Pillow"
MODULES = ("PIL",)
BRINGS = ("pillow",)
PRIORITY = 0
CODE = 'Image.open(path).convert("RGB").resize(size, Image.Resampling.BILINEAR)'
OPENED = """
from PIL import Image


def load(path):
    with Image.open(path) as opened:
"""
"""The start of a LOADER: what it does with the opened image follows, and then `FINISHED`."""
FINISHED = """

def finished(image, reducing_gap=None):
    scale = SHORTER / min(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    image = image.resize(size, getattr(Image, FILTER.upper()), reducing_gap=reducing_gap)
    if CROP:
        left, top = (image.width - CROP) // 2, (image.height - CROP) // 2
        image = image.crop((left, top, left + CROP, top + CROP))
    return image
"""
"""The end of a LOADER: a Pillow image, which every transform library accepts, with or without numpy."""
LOADER = f"""{OPENED}\
        return finished(opened.convert("RGB"))
{FINISHED}"""
FILTERS = {"bilinear": 2, "bicubic": 3, "lanczos": 1}


def stages(
    wanted: Dict[str, Any], *, drafted: bool = False, convert: Any = None, **resizing: float
) -> List[Tuple[str, Callable[[Any], Any]]]:
    """Return the stages; the neighbours of this file each change one of them."""
    from PIL import Image

    found = [
        ("decode", partial(decode, Image, drafted and wanted["shorter"])),
        ("convert", convert or to_rgb),
        ("resize", partial(resize, wanted["shorter"], FILTERS[wanted["filter"]], resizing)),
    ]
    if wanted["crop"]:
        found.append(("crop", partial(crop, wanted["crop"])))
    return [*found, ("array", array if wanted["array"] else methodcaller("tobytes"))]


def decode(Image: Any, draft: int, data: bytes) -> Any:  # noqa: N803 (a module's name)
    """Decode a file; a JPEG at a fraction of its size, the smallest that covers `draft`, unless that is 0."""
    image = Image.open(io.BytesIO(data))
    if draft:
        image.draft("RGB", (draft, draft))
    image.load()
    return image


def to_rgb(image: Any) -> Any:
    """Convert as loaders do, including torchvision's. Pillow copies an image that is already RGB."""
    return image.convert("RGB")


def resize(shorter: int, number: int, how: Dict[str, float], image: Any) -> Any:
    scale = shorter / min(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, number, **how)


def crop(side: int, image: Any) -> Any:
    """Return the centre square; for smaller pictures, Pillow adds a black margin."""
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def array(image: Any) -> Any:
    import numpy as np

    return np.asarray(image)
