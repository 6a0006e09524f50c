"""Pillow's draft mode: libjpeg decodes at 1/2, 1/4 or 1/8 of the size, the smallest that suffices."""

from . import pillow

TITLE = "Pillow, draft mode"
MODULES = pillow.MODULES
BRINGS = pillow.BRINGS
FORMATS = ("JPEG",)
SCALES = 2
PRIORITY = 10
CODE = 'image.draft("RGB", (shorter, shorter))  # right after Image.open(path)'
LOADER = pillow.LOADER.replace("    image.load()", '    image.draft("RGB", (SHORTER, SHORTER))\n    image.load()')
