"""OpenCV as most code calls it: INTER_LINEAR reads four pixels, however many are merged, and so aliases."""

from . import _opencv

NAME = "opencv-linear"
TITLE = "OpenCV, INTER_LINEAR"
MODULES = ("numpy", "cv2")
BRINGS = ("opencv-python-headless", "numpy")
FORMATS = _opencv.FORMATS
ALIASED = True
PRIORITY = 150
CODE = "cv2.resize(cv2.imread(path), size)"
LOADER = f"""{_opencv.LOADED}

def load(path):
    return loaded(path, averaging=False)
"""
