"""OpenCV, reduced with INTER_AREA: the average of merged pixels, whatever filter was requested."""

from . import _opencv

NAME = "opencv-area"
TITLE = "OpenCV, INTER_AREA"
MODULES = ("numpy", "cv2")
BRINGS = ("opencv-python-headless", "numpy")
FORMATS = _opencv.FORMATS
PRIORITY = 70
CODE = "cv2.resize(cv2.imread(path), size, interpolation=cv2.INTER_AREA)"
LOADER = f"""{_opencv.LOADED}

def load(path):
    return loaded(path)
"""
