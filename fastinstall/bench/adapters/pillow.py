"""Pillow as most loaders use it: decode whole, convert to RGB, resize, cut out the middle."""

from __future__ import annotations

import io
from functools import partial
from typing import Any, Callable, Dict, List, Tuple

Stages = List[Tuple[str, Callable[[Any], Any]]]

NAME = "pillow"
TITLE = "Pillow"
MODULES = ("PIL",)
BRINGS = ("pillow",)
FORMATS: Tuple[str, ...] = ()
ALIASED = False
CODE = 'Image.open(path).convert("RGB").resize(size, Image.Resampling.BILINEAR)'
LOADER = """
import numpy
from PIL import Image


def load(path):
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    scale = SHORTER / min(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    image = image.resize(size, Image.Resampling.BILINEAR)
    left, top = (image.width - CROP) // 2, (image.height - CROP) // 2
    return numpy.asarray(image.crop((left, top, left + CROP, top + CROP)))
"""

FILTERS = {"bilinear": 2, "bicubic": 3, "lanczos": 1}


def versions() -> Dict[str, str]:
    import PIL

    return {"pillow": PIL.__version__}


def stages(wanted: Dict[str, Any]) -> Stages:
    from PIL import Image

    return [("decode", partial(decode, Image)), *finish(wanted)]


def finish(wanted: Dict[str, Any]) -> Stages:
    """What follows the decoding."""
    found: Stages = [("convert", convert), ("resize", partial(resize, wanted["shorter"], FILTERS[wanted["filter"]]))]
    if wanted["crop"]:
        found.append(("crop", partial(crop, wanted["crop"])))
    return [*found, ("array", array if wanted["array"] else to_bytes)]


def decode(Image: Any, data: bytes) -> Any:  # noqa: N803 (a module's name)
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def convert(image: Any) -> Any:
    return image if image.mode == "RGB" else image.convert("RGB")


def resize(shorter: int, number: int, image: Any) -> Any:
    scale = shorter / min(image.size)
    return image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))), number)


def crop(side: int, image: Any) -> Any:
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def array(image: Any) -> Any:
    import numpy as np

    return np.asarray(image)


def to_bytes(image: Any) -> bytes:
    found: bytes = image.tobytes()
    return found
