"""Pillow's resize in two steps: blocks of pixels are averaged first, down to twice the requested size.

For formats without draft mode: large PNG, WebP, TIFF. With draft mode nothing is left to average. The gap is the one
that thumbnail() uses, and Pillow's documentation calls the result nearly as good as without.
"""

from . import pillow

TITLE = "Pillow, resize in two steps"
MODULES = pillow.MODULES
BRINGS = pillow.BRINGS
SCALES = 4
CODE = "image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)"
LOADER = pillow.LOADER.replace("FILTER.upper())", "FILTER.upper()), reducing_gap=2.0")
