"""Pillow's resize in two steps: blocks of pixels are averaged first, down to twice the requested size.

This helps with large pictures in formats without draft mode: PNG, WebP, TIFF. After draft mode, a picture is too small
for the first step. The gap of 2.0 is the one that thumbnail() uses. Pillow's documentation calls the result nearly as
good as that of a plain resize.
"""

from . import pillow

TITLE = "Pillow, resize in two steps"
MODULES = pillow.MODULES
BRINGS = pillow.BRINGS
SCALES = 4
CODE = "image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)"
LOADER = pillow.LOADER.replace("FILTER.upper())", "FILTER.upper()), reducing_gap=2.0")
