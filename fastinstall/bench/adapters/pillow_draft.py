"""Pillow's draft mode: libjpeg decodes at 1/2, 1/4 or 1/8 of the size, the least that is large enough."""

from __future__ import annotations

import io
from functools import partial
from typing import Any, Dict, Tuple

from . import pillow

NAME = "pillow-draft"
TITLE = "Pillow, draft mode"
MODULES = ("PIL",)
BRINGS = ("pillow",)
FORMATS: Tuple[str, ...] = ("JPEG",)
ALIASED = False
CODE = 'image.draft("RGB", (shorter, shorter))  # right after Image.open(path)'
LOADER = """
import numpy
from PIL import Image


def load(path):
    with Image.open(path) as opened:
        opened.draft("RGB", (SHORTER, SHORTER))
        image = opened.convert("RGB")
    scale = SHORTER / min(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    image = image.resize(size, Image.Resampling.BILINEAR)
    left, top = (image.width - CROP) // 2, (image.height - CROP) // 2
    return numpy.asarray(image.crop((left, top, left + CROP, top + CROP)))
"""

versions = pillow.versions


def stages(wanted: Dict[str, Any]) -> pillow.Stages:
    from PIL import Image

    return [("decode", partial(decode, Image, wanted["shorter"])), *pillow.finish(wanted)]


def decode(Image: Any, shorter: int, data: bytes) -> Any:  # noqa: N803 (a module's name)
    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (shorter, shorter))
    image.load()
    return image
