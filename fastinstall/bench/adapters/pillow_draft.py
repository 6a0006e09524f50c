"""Pillow's draft mode: libjpeg decodes at 1/2, 1/4 or 1/8 of the size, the smallest that suffices."""

from functools import partial
from typing import Tuple

from . import pillow

NAME = "pillow-draft"
TITLE = "Pillow, draft mode"
MODULES = ("PIL",)
BRINGS = ("pillow",)
FORMATS: Tuple[str, ...] = ("JPEG",)
SCALES = 2
PRIORITY = 10
CODE = 'image.draft("RGB", (shorter, shorter))  # right after Image.open(path)'
LOADER = f"""{pillow.OPENED}\
        opened.draft("RGB", (SHORTER, SHORTER))
        return finished(opened.convert("RGB"))
{pillow.FINISHED}"""

stages = partial(pillow.stages, drafted=True)
