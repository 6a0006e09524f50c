#!/bin/sh
# One would guess: a boolean array written by tifffile shows True as white.
#
# What happens: True is black. Pillow and OpenCV read the file inverted; tifffile itself reads back what was given.
#
# Why: tifffile writes boolean arrays as WhiteIsZero (as faxes are), and gives raw bits when it reads, whatever
# they mean.
#
# Whom it hurts: masks for segmentation, written by tifffile and read by a loader that uses Pillow or OpenCV:
# foreground and background change places.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    tifffile==2026.3.3 imagecodecs==2026.3.6 numpy==2.4.6 pillow==13.0.0 opencv-python-headless==5.0.0.93 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL, tifffile
from PIL import Image

mask = numpy.array([[True, False] * 8])
file = io.BytesIO()
tifffile.imwrite(file, mask)
data = file.getvalue()
by_tifffile = bool(tifffile.imread(io.BytesIO(data))[0, 0])
by_pillow = Image.open(io.BytesIO(data)).convert("L").getpixel((0, 0))
by_opencv = int(cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_GRAYSCALE)[0, 0])
print("tifffile", tifffile.__version__, "Pillow", PIL.__version__, "OpenCV", cv2.__version__)
print("True, written by tifffile, is read as: tifffile", by_tifffile, "Pillow", by_pillow, "OpenCV", by_opencv)
sys.exit((by_tifffile, by_pillow, by_opencv) != (True, 0, 0))
END
