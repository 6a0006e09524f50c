"""Shared by the adapters of OpenCV. Not an adapter."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict

from . import _arrays

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM")
Interpolation = Callable[[bool], int]  # from whether the picture becomes smaller
INTERPOLATIONS = {"bilinear": "INTER_LINEAR", "bicubic": "INTER_CUBIC", "lanczos": "INTER_LANCZOS4"}


def opencv() -> Any:
    """Return OpenCV on one thread: a DataLoader's worker has one CPU."""
    import cv2

    cv2.setNumThreads(0)
    return cv2


def whole(wanted: Dict[str, Any], choose: Callable[[Any, Dict[str, Any]], Interpolation]) -> _arrays.Stages:
    """Return all stages, with the picture decoded at full size."""
    cv2 = opencv()
    flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    return [("decode", partial(decode, cv2, flags)), *after_decoding(cv2, wanted, choose(cv2, wanted))]


def after_decoding(cv2: Any, wanted: Dict[str, Any], interpolation: Interpolation) -> _arrays.Stages:
    """Return the stages after decoding: resize, crop, and colours in the order RGB."""
    return [
        ("resize", partial(resize, cv2, wanted["shorter"], interpolation)),
        *_arrays.cropping(wanted),
        ("array", partial(to_rgb, cv2)),
    ]


def decode(cv2: Any, flags: int, data: bytes) -> Any:
    """Return blue, green, red, without alpha and EXIF rotation, like Pillow.

    Raises:
        ValueError: OpenCV cannot decode it; it gives no reason.
    """
    import numpy as np

    image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None:
        message = "OpenCV cannot decode it"
        raise ValueError(message)
    return image


def resize(cv2: Any, shorter: int, interpolation: Interpolation, image: Any) -> Any:
    height, width = _arrays.size_after(image.shape[0], image.shape[1], shorter)
    smaller = height < image.shape[0]
    return cv2.resize(image, (width, height), interpolation=interpolation(smaller))


def to_rgb(cv2: Any, image: Any) -> Any:
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def named(cv2: Any, wanted: Dict[str, Any]) -> Interpolation:
    """Return OpenCV's interpolation named like the requested filter; it ignores the scale."""
    number = int(getattr(cv2, INTERPOLATIONS[wanted["filter"]]))
    return lambda _smaller: number


def averaging(cv2: Any, wanted: Dict[str, Any]) -> Interpolation:
    """Return INTER_AREA for reducing, OpenCV's only one that skips no pixels; the named one for enlarging."""
    area, other = int(cv2.INTER_AREA), named(cv2, wanted)
    return lambda smaller: area if smaller else other(smaller)


LOAD = """
import cv2

cv2.setNumThreads(0)  # a DataLoader's worker has one CPU


def load(path):
    image = cv2.imread(path, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"OpenCV cannot decode {path}")
    return finished(image)
"""
"""The start of a LOADER; `finished` follows."""
LOADED = """

INTERPOLATIONS = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC, "lanczos": cv2.INTER_LANCZOS4}


def finished(image):
    scale = SHORTER / min(image.shape[:2])
    height, width = (max(1, round(length * scale)) for length in image.shape[:2])
    image = cv2.resize(image, (width, height), interpolation=interpolation(height < image.shape[0]))
    if CROP:
        top, left = (height - CROP) // 2, (width - CROP) // 2
        image = image[top : top + CROP, left : left + CROP]
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
"""
"""`after_decoding`, for the end of a LOADER that defines `interpolation(smaller)`."""
LOADED_AVERAGING = """

def interpolation(smaller):
    return cv2.INTER_AREA if smaller else INTERPOLATIONS[FILTER]
"""
"""`averaging`, likewise."""
