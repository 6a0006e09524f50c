#!/bin/sh
# One would guess: white in a 16-bit BMP (5, 6 and 5 bits) is white: 255, 255, 255.
#
# What happens: OpenCV reads 248, 252, 248, and 248 for each channel of a 15-bit file. Pillow and imagecodecs read
# 255.
#
# Why: OpenCV shifts the bits to the left and leaves the lower ones zero; the others spread 0 to 31 over 0 to 255.
#
# Whom it hurts: whoever compares or mixes decoders on screenshots of embedded devices: every picture is darker,
# and a test for white never succeeds.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check install opencv-python-headless==5.0.0.93 numpy==2.4.6 pillow==13.0.0
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, struct, sys

import cv2, numpy, PIL
from PIL import Image

pixels = struct.pack("<2H", 0xFFFF, 0x0000)
header = struct.pack("<IiiHHIIiiII3I", 40, 2, 1, 1, 16, 3, len(pixels), 2835, 2835, 0, 0, 0xF800, 0x07E0, 0x001F)
start = 14 + len(header)
data = b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + pixels
by_opencv = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)[0, 0, ::-1].tolist()
by_pillow = list(Image.open(io.BytesIO(data)).getpixel((0, 0)))
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("white of a 16-bit BMP: OpenCV", by_opencv, "Pillow", by_pillow)
sys.exit((by_opencv, by_pillow) != ([248, 252, 248], [255, 255, 255]))
END
