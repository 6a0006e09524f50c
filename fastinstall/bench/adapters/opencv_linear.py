"""OpenCV as most code calls it: INTER_LINEAR looks at four pixels, however many fall together, and so aliases."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import _arrays, _opencv

NAME = "opencv-linear"
TITLE = "OpenCV, INTER_LINEAR"
MODULES = ("numpy", "cv2")
BRINGS = ("opencv-python-headless", "numpy")
FORMATS = _opencv.FORMATS
ALIASED = True
PRIORITY = 150
CODE = "cv2.resize(cv2.imread(path), size)"
LOADER = (
    """
import cv2

cv2.setNumThreads(0)  # a DataLoader's worker has one CPU


def load(path):
    image = cv2.imread(path, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"OpenCV cannot decode {path}")
    return finished(image)
"""
    + _opencv.LOADED
    + """

def interpolation(smaller):
    return INTERPOLATIONS[FILTER]
"""
)

versions = _opencv.versions


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    cv2 = _opencv.opencv()
    decode = partial(_opencv.decode, cv2, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    return [("decode", decode), *_opencv.after_decoding(cv2, wanted, _opencv.named(cv2, wanted))]
