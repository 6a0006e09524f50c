"""Shared by the adapters of OpenCV. Not an adapter."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM")
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
"""The end of a LOADER that defines `interpolation(smaller)`."""
LOADED_AVERAGING = """

def interpolation(smaller):
    return cv2.INTER_AREA if smaller else INTERPOLATIONS[FILTER]
"""
"""INTER_AREA for reducing, OpenCV's only one that skips no pixels; the named one for enlarging."""
