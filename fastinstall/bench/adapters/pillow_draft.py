"""Pillow's draft mode: libjpeg decodes at 1/2, 1/4 or 1/8 of the size, the smallest that suffices."""

import io
from functools import partial
from typing import Any, Tuple

from . import pillow

NAME = "pillow-draft"
TITLE = "Pillow, draft mode"
MODULES = ("PIL",)
BRINGS = ("pillow",)
FORMATS: Tuple[str, ...] = ("JPEG",)
SCALES = 2
PRIORITY = 10
CODE = 'image.draft("RGB", (shorter, shorter))  # right after Image.open(path)'
LOADER = (
    """
from PIL import Image


def load(path):
    with Image.open(path) as opened:
        opened.draft("RGB", (SHORTER, SHORTER))
        return finished(opened.convert("RGB"))
"""
    + pillow.FINISHED
)


def decode(Image: Any, shorter: int, data: bytes) -> Any:  # noqa: N803 (a module's name)
    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (shorter, shorter))
    image.load()
    return image


stages = partial(pillow.stages, decode=decode)
