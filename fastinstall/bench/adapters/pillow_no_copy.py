"""Pillow without a needless copy: convert("RGB") copies a picture that is already RGB."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import pillow

NAME = "pillow-no-copy"
TITLE = "Pillow, converted only if not RGB"
MODULES = ("PIL",)
BRINGS = ("pillow",)
PRIORITY = 60
CODE = 'image = image if image.mode == "RGB" else image.convert("RGB")'
LOADER = (
    """
from PIL import Image


def load(path):
    with Image.open(path) as opened:
        opened.load()
        return finished(opened if opened.mode == "RGB" else opened.convert("RGB"))
"""
    + pillow.FINISHED
)


def stages(wanted: Dict[str, Any]) -> pillow.Stages:
    from PIL import Image

    resizing = ("resize", partial(pillow.resize, *pillow.aim(wanted)))
    return [
        ("decode", partial(pillow.decode, Image)),
        ("convert", pillow.convert),
        resizing,
        *pillow.after_resize(wanted),
    ]
