"""Pillow's resize in two steps: blocks of pixels are averaged first, down to twice the requested size.

For formats without draft mode: large PNG, WebP, TIFF. With draft mode nothing is left to average.
"""

from functools import partial

from . import pillow

NAME = "pillow-reducing-gap"
TITLE = "Pillow, resize in two steps"
MODULES = ("PIL",)
BRINGS = ("pillow",)
SCALES = 4
CODE = "image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)"
LOADER = f"""{pillow.OPENED}\
        return finished(opened.convert("RGB"), reducing_gap=2.0)
{pillow.FINISHED}"""

stages = partial(pillow.stages, reducing_gap=2.0)
"""With the value that thumbnail() uses, and Pillow's documentation calls nearly as good as without."""
