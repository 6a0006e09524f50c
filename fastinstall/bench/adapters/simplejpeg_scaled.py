"""simplejpeg's scaled decoding: libjpeg-turbo decodes at a fraction of the size, the smallest that suffices.

This adapter does not reduce by factors below two, because decoding the complete picture is faster then. Source:
simplejpeg's documentation.
"""

from . import simplejpeg

TITLE = "simplejpeg, scaled decoding, resized by Pillow"
MODULES = simplejpeg.MODULES
BRINGS = simplejpeg.BRINGS
FORMATS = simplejpeg.FORMATS
SCALES = 2
PRIORITY = 100
CODE = "simplejpeg.decode_jpeg(data, min_height=shorter, min_width=shorter, min_factor=2)"
LOADER = simplejpeg.LOADER.replace("jpeg(data)", "jpeg(data, min_height=SHORTER, min_width=SHORTER, min_factor=2)")
