"""Pillow as most loaders use it: decode completely, convert to RGB, resize, crop the centre.

`load` returns a Pillow image, which every transform library accepts, with or without numpy.
"""

TITLE = "Pillow"
MODULES = ("PIL",)
BRINGS = ("pillow",)
PRIORITY = 0
CODE = 'Image.open(path).convert("RGB").resize(size, Image.Resampling.BILINEAR)'
LOADER = """
import io

from PIL import Image


def decode(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def convert(image):
    return image.convert("RGB")


def resize(image):
    scale = SHORTER / min(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, getattr(Image, FILTER.upper()))


def crop(image):
    left, top = (image.width - CROP) // 2, (image.height - CROP) // 2
    return image.crop((left, top, left + CROP, top + CROP)) if CROP else image


def load(path):
    with open(path, "rb") as stream:
        data = stream.read()
    return crop(resize(convert(decode(data))))
"""
