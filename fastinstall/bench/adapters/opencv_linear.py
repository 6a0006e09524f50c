"""OpenCV as most code calls it: INTER_LINEAR reads only four source pixels for each target pixel, so it aliases."""

from . import opencv_area

TITLE = "OpenCV, INTER_LINEAR"
MODULES = opencv_area.MODULES
BRINGS = opencv_area.BRINGS
FORMATS = opencv_area.FORMATS
ALIASED = True
PRIORITY = 150
CODE = "cv2.resize(cv2.imread(path), size)"
LOADER = opencv_area.LOADER.replace("cv2.INTER_AREA if height < image.shape[0] else ", "")
