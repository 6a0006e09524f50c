"""OpenCV's reduced decoding: libjpeg decodes at 1/2, 1/4 or 1/8 of the size, the smallest that suffices.

OpenCV cannot determine a picture's size without decoding it, so Pillow reads the header.
"""

from . import opencv_area

TITLE = "OpenCV, reduced decoding and INTER_AREA"
MODULES = ("numpy", "cv2", "PIL")
BRINGS = opencv_area.BRINGS
FORMATS = ("JPEG",)
SCALES = 2
PRIORITY = 90
CODE = "cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_4)  # 2, 4 or 8: while the shorter side stays large enough"
LOADER = f"""
from PIL import Image
{opencv_area.LOADER.replace("def load(path, flag=cv2.IMREAD_COLOR)", "def decode_and_resize(path, flag)")}

REDUCED = (8, cv2.IMREAD_REDUCED_COLOR_8), (4, cv2.IMREAD_REDUCED_COLOR_4), (2, cv2.IMREAD_REDUCED_COLOR_2)


def load(path):
    with Image.open(path) as opened:  # only reads the header
        times = min(opened.size) // SHORTER
    return decode_and_resize(path, next((flag for factor, flag in REDUCED if factor <= times), cv2.IMREAD_COLOR))
"""
