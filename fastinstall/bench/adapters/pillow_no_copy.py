"""Pillow without the needless copy that convert("RGB") makes of a picture that is already RGB."""

from . import pillow

TITLE = "Pillow, converted only if not RGB"
MODULES = pillow.MODULES
BRINGS = pillow.BRINGS
PRIORITY = 60
CODE = 'image = image if image.mode == "RGB" else image.convert("RGB")'
LOADER = pillow.LOADER.replace(
    'return image.convert("RGB")', 'return image if image.mode == "RGB" else image.convert("RGB")'
)
