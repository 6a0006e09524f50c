#!/bin/sh
# One would guess: cv2.imwrite of a PNG with IMWRITE_PNG_COMPRESSION set to its default, 1, writes the file that it
# writes without it.
#
# What happens: a page of text is about four times as large without the parameter: 835 kB against 212 kB with level 1.
#
# Why: without parameters OpenCV also sets zlib's strategy to run lengths (Z_RLE), which finds no repeated letters;
# naming any level sets the strategy back to zlib's default.
#
# Whom it hurts: whoever stores screenshots, scans and synthetic pages by cv2.imwrite, and whoever compares libraries
# by their defaults.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy==2.4.6 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import sys

import cv2, numpy, PIL
from PIL import Image, ImageDraw

page = Image.new("RGB", (1240, 1754), "white")
draw = ImageDraw.Draw(page)
for y in range(40, 1700, 22):
    draw.text((60, y), f"The quick brown fox jumps over the lazy dog {y} " * 3, fill="black")
pixels = numpy.asarray(page)
default = len(cv2.imencode(".png", pixels)[1])
level_1 = len(cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print(f"bytes: without the parameter {default}, with level 1 {level_1}")
sys.exit(not 3 < default / level_1 < 5)
END
