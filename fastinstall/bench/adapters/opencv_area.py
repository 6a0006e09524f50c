"""OpenCV with INTER_AREA, which averages all source pixels of a target pixel, if the picture gets smaller.

INTER_AREA is the only method of OpenCV that skips no pixels when it reduces a picture. The requested filter is used
only to enlarge.
"""

TITLE = "OpenCV, INTER_AREA"
MODULES = ("numpy", "cv2")
BRINGS = ("opencv-python-headless", "numpy")
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM")
PRIORITY = 70
CODE = "cv2.resize(cv2.imread(path), size, interpolation=cv2.INTER_AREA)"
LOADER = """
import cv2

cv2.setNumThreads(0)  # a DataLoader's worker has one CPU

INTERPOLATIONS = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC, "lanczos": cv2.INTER_LANCZOS4}


def load(path, flag=cv2.IMREAD_COLOR):
    image = cv2.imread(path, flag | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"OpenCV cannot decode {path}")
    scale = SHORTER / min(image.shape[:2])
    height, width = (max(1, round(length * scale)) for length in image.shape[:2])
    interpolation = cv2.INTER_AREA if height < image.shape[0] else INTERPOLATIONS[FILTER]
    image = cv2.resize(image, (width, height), interpolation=interpolation)
    if CROP:
        top, left = (height - CROP) // 2, (width - CROP) // 2
        image = image[top : top + CROP, left : left + CROP]
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
"""
