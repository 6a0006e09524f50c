#!/bin/sh
# One would guess: a decoder that does not know a compression says so, as OpenCV does for a TIFF with WebP inside
# (None).
#
# What happens: for a TIFF whose strips are JPEG 2000 or JPEG XL, OpenCV returns a picture of the right size in
# which every pixel is 0. Pillow refuses the file; tifffile with imagecodecs reads it.
#
# Why: libtiff opens the file although it cannot decode its strips. Its interface for display, which OpenCV uses, goes
# on after a strip that failed.
#
# Whom it hurts: training sets with scans and satellite scenes: black pictures are learnt without an error.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    opencv-python-headless==5.0.0.93 numpy==2.4.6 tifffile==2026.3.3 imagecodecs==2026.3.6 pillow==13.0.0 || exit 69
cd "$dir"
export OPENCV_LOG_LEVEL=OFF

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, tifffile
from PIL import Image

picture = numpy.full((32, 48, 3), (200, 100, 50), numpy.uint8)


def read(compression):
    """The largest value that OpenCV, Pillow and tifffile read, None where one refuses."""
    file = io.BytesIO()
    tifffile.imwrite(file, picture, photometric="rgb", compression=compression)
    data = file.getvalue()
    by_opencv = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)
    try:
        by_pillow = int(numpy.asarray(Image.open(io.BytesIO(data))).max())
    except OSError:
        by_pillow = None
    by_tifffile = int(tifffile.imread(io.BytesIO(data)).max())
    return None if by_opencv is None else int(by_opencv.max()), by_pillow, by_tifffile


seen = {compression: read(compression) for compression in ("webp", "jpeg2000", "jpegxl")}
print("OpenCV", cv2.__version__, "tifffile", tifffile.__version__)
print("largest value (OpenCV, Pillow, tifffile):", seen)
black = (0, None, 200)
sys.exit(seen["webp"][0] is not None or (seen["jpeg2000"], seen["jpegxl"]) != (black, black))
END
