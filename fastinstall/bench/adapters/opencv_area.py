"""OpenCV, made smaller by INTER_AREA: the average over the pixels that fall together, whatever the filter is called."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import _arrays, _opencv

NAME = "opencv-area"
TITLE = "OpenCV, INTER_AREA"
MODULES = ("numpy", "cv2")
BRINGS = ("opencv-python-headless", "numpy")
FORMATS = _opencv.FORMATS
ALIASED = False
PRIORITY = 70
CODE = "cv2.resize(cv2.imread(path), size, interpolation=cv2.INTER_AREA)"
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
    + _opencv.LOADED_AVERAGING
)

versions = _opencv.versions


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    cv2 = _opencv.opencv()
    decode = partial(_opencv.decode, cv2, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    return [("decode", decode), *_opencv.after_decoding(cv2, wanted, _opencv.averaging(cv2, wanted))]
