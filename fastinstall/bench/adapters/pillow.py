"""Pillow as most loaders use it: decode completely, convert to RGB, resize, crop the centre."""

from __future__ import annotations

import io
from functools import partial
from typing import Any, Callable, Dict, List, Tuple

Stages = List[Tuple[str, Callable[[Any], Any]]]

NAME = "pillow"
TITLE = "Pillow"
MODULES = ("PIL",)
BRINGS = ("pillow",)
PRIORITY = 0
CODE = 'Image.open(path).convert("RGB").resize(size, Image.Resampling.BILINEAR)'
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
LOADER = (
    """
from PIL import Image


def load(path):
    with Image.open(path) as opened:
        return finished(opened.convert("RGB"))
"""
    + FINISHED
)

FILTERS = {"bilinear": 2, "bicubic": 3, "lanczos": 1}


def stages(wanted: Dict[str, Any]) -> Stages:
    from PIL import Image

    return [("decode", partial(decode, Image)), *finish(wanted)]


def finish(wanted: Dict[str, Any]) -> Stages:
    """Return the stages after decoding, in loaders that accept any mode."""
    return [("convert", to_rgb), ("resize", partial(resize, *aim(wanted))), *after_resize(wanted)]


def aim(wanted: Dict[str, Any]) -> Tuple[int, int]:
    """Return the length of the shorter side, and Pillow's number of the filter."""
    return wanted["shorter"], FILTERS[wanted["filter"]]


def after_resize(wanted: Dict[str, Any]) -> Stages:
    found: Stages = []
    if wanted["crop"]:
        found.append(("crop", partial(crop, wanted["crop"])))
    return [*found, ("array", array if wanted["array"] else to_bytes)]


def decode(Image: Any, data: bytes) -> Any:  # noqa: N803 (a module's name)
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def to_rgb(image: Any) -> Any:
    """Convert as loaders do, including torchvision's. Pillow copies an image that is already RGB."""
    return image.convert("RGB")


def convert(image: Any) -> Any:
    """Decode without the copy."""
    return image if image.mode == "RGB" else image.convert("RGB")


def resize(shorter: int, number: int, image: Any) -> Any:
    return image.resize(size_after(image, shorter), number)


def size_after(image: Any, shorter: int) -> Tuple[int, int]:
    """Return width and height with a shorter side of that length."""
    scale = shorter / min(image.size)
    return max(1, round(image.width * scale)), max(1, round(image.height * scale))


def crop(side: int, image: Any) -> Any:
    """Return the centre square; for smaller pictures, Pillow adds a black margin."""
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def array(image: Any) -> Any:
    import numpy as np

    return np.asarray(image)


def to_bytes(image: Any) -> bytes:
    found: bytes = image.tobytes()
    return found
