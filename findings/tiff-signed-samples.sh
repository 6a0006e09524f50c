#!/bin/sh
# One would guess: signed samples of a TIFF either keep their order or are refused.
#
# What happens: Pillow reads an 8-bit signed file as unsigned bits, so -1 (255) is brighter than 127. OpenCV's
# IMREAD_COLOR takes the upper byte of 16-bit signed samples, so -100 becomes 255: white. IMREAD_UNCHANGED keeps them.
#
# Why: Pillow maps sample format 2 with 8 bits to its mode L; OpenCV shifts by 8 bits and stores the result as
# unsigned.
#
# Whom it hurts: elevation models and CT slices with 16 signed bits. Land below the sea, or air, turns white in OpenCV's
# default reading.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    tifffile==2026.3.3 numpy==2.4.6 pillow==13.0.0 opencv-python-headless==5.0.0.93 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL, tifffile
from PIL import Image


def write(values):
    file = io.BytesIO()
    tifffile.imwrite(file, values, photometric="minisblack")
    return file.getvalue()


eight_bits = numpy.array([[-128, -1, 0, 127]], numpy.int8)
sixteen_bits = numpy.array([[-100, -1, 0, 25600]], numpy.int16)
by_pillow = numpy.asarray(Image.open(io.BytesIO(write(eight_bits)))).tolist()[0]
data = numpy.frombuffer(write(sixteen_bits), numpy.uint8)
by_opencv = cv2.imdecode(data, cv2.IMREAD_COLOR)[0, :, 0].tolist()
kept = cv2.imdecode(data, cv2.IMREAD_UNCHANGED).tolist() == sixteen_bits.tolist()
print("Pillow", PIL.__version__, "OpenCV", cv2.__version__, "tifffile", tifffile.__version__)
print("Pillow reads", eight_bits.tolist()[0], "as", by_pillow, "- OpenCV", sixteen_bits.tolist()[0], "as", by_opencv)
sys.exit((by_pillow, by_opencv, kept) != ([128, 255, 0, 127], [255, 255, 0, 100], True))
END
