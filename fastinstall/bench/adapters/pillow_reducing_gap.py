"""Pillow's resize in two steps: blocks of pixels are averaged first, down to twice the requested size.

For formats without draft mode: large PNG, WebP, TIFF. With draft mode nothing is left to average.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import pillow

NAME = "pillow-reducing-gap"
TITLE = "Pillow, resize in two steps"
MODULES = ("PIL",)
BRINGS = ("pillow",)
SCALES = 4
CODE = "image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)"
LOADER = (
    """
from PIL import Image


def load(path):
    with Image.open(path) as opened:
        return finished(opened.convert("RGB"), reducing_gap=2.0)
"""
    + pillow.FINISHED
)

GAP = 2.0
"""The value that thumbnail() uses, and Pillow's documentation calls nearly as good as without."""


def stages(wanted: Dict[str, Any]) -> pillow.Stages:
    from PIL import Image

    resizing = ("resize", partial(resize, *pillow.aim(wanted)))
    return [
        ("decode", partial(pillow.decode, Image)),
        ("convert", pillow.to_rgb),
        resizing,
        *pillow.after_resize(wanted),
    ]


def resize(shorter: int, number: int, image: Any) -> Any:
    return image.resize(pillow.size_after(image, shorter), number, reducing_gap=GAP)
