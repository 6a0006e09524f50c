"""simplejpeg's scaled decoding: libjpeg-turbo decodes at a fraction of the size, the smallest that suffices.

Not by factors below two: then decoding the complete picture is faster. Source: simplejpeg's documentation.
"""

from . import simplejpeg

NAME = "simplejpeg-scaled"
TITLE = "simplejpeg, scaled decoding, resized by Pillow"
MODULES = simplejpeg.MODULES
BRINGS = simplejpeg.BRINGS
FORMATS = simplejpeg.FORMATS
SCALES = 2
PRIORITY = 100
CODE = "simplejpeg.decode_jpeg(data, min_height=shorter, min_width=shorter, min_factor=2)"
LOADER = simplejpeg.LOADER.replace("read_bytes()", "read_bytes(), min_height=SHORTER, min_width=SHORTER, min_factor=2")
