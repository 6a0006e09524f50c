#!/bin/sh
# One would guess: a binary PPM file (P6) says the value of white in its header, and every reader scales by it.
#
# What happens: OpenCV does not. White of a 5-bit PPM (maxval 31) is read as 31, and white of a 10-bit PPM (maxval
# 1023) as 3 of 255 by IMREAD_COLOR: the picture is almost black. Pillow gives 255 for both.
#
# Why: OpenCV uses maxval only to choose between one and two bytes a sample, and then takes the upper byte.
#
# Whom it hurts: pipelines with 10- and 12-bit frames of cameras, which are written as PPM with their own maxval.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    opencv-python-headless==5.0.0.93 numpy==2.4.6 pillow==13.0.0 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, struct, sys

import cv2, numpy, PIL
from PIL import Image


def read(data):
    """White as OpenCV and as Pillow read it."""
    by_opencv = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)
    return int(by_opencv[0, 0, 0]), Image.open(io.BytesIO(data)).getpixel((0, 0))[0]


five_bits = read(b"P6 1 1 31\n" + bytes([31, 31, 31]))
ten_bits = read(b"P6 1 1 1023\n" + struct.pack(">3H", 1023, 1023, 1023))
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("white (OpenCV, Pillow): maxval 31", five_bits, "maxval 1023", ten_bits)
sys.exit((five_bits, ten_bits) != ((31, 255), (3, 255)))
END
