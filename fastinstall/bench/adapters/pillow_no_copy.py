"""Pillow without a needless copy: convert("RGB") copies a picture that is already RGB."""

from functools import partial
from typing import Any

from . import pillow

NAME = "pillow-no-copy"
TITLE = "Pillow, converted only if not RGB"
MODULES = ("PIL",)
BRINGS = ("pillow",)
PRIORITY = 60
CODE = 'image = image if image.mode == "RGB" else image.convert("RGB")'
LOADER = f"""{pillow.OPENED}\
        opened.load()
        return finished(opened if opened.mode == "RGB" else opened.convert("RGB"))
{pillow.FINISHED}"""


def convert(image: Any) -> Any:
    return image if image.mode == "RGB" else image.convert("RGB")


stages = partial(pillow.stages, convert=convert)
