"""simplejpeg, a thin binding with its own libjpeg-turbo; Pillow resizes the decoded picture."""

from . import pillow

TITLE = "simplejpeg, resized by Pillow"
MODULES = ("numpy", "simplejpeg", "PIL")
BRINGS = ("simplejpeg", "numpy")
FORMATS = ("JPEG",)
PRIORITY = 80
CODE = "Image.fromarray(simplejpeg.decode_jpeg(data))"
LOADER = f"""
import simplejpeg
from PIL import Image


def decode(data):
    return simplejpeg.decode_jpeg(data)


def convert(array):
    return Image.fromarray(array)


def resize{pillow.LOADER.partition("def resize")[2]}"""
