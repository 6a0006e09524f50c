"""Shared by the adapters of OpenCV. Not an adapter."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM")
LOADED = """
import cv2

cv2.setNumThreads(0)  # a DataLoader's worker has one CPU

INTERPOLATIONS = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC, "lanczos": cv2.INTER_LANCZOS4}


def loaded(path, flag=cv2.IMREAD_COLOR, averaging=True):
    image = cv2.imread(path, flag | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"OpenCV cannot decode {path}")
    scale = SHORTER / min(image.shape[:2])
    height, width = (max(1, round(length * scale)) for length in image.shape[:2])
    interpolation = cv2.INTER_AREA if averaging and height < image.shape[0] else INTERPOLATIONS[FILTER]
    image = cv2.resize(image, (width, height), interpolation=interpolation)
    if CROP:
        top, left = (height - CROP) // 2, (width - CROP) // 2
        image = image[top : top + CROP, left : left + CROP]
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
"""
"""The start of a LOADER; `load` follows. For reducing it takes INTER_AREA, OpenCV's only one that skips no pixels."""
