#!/bin/sh
# One would guess: the number in the third line of a PFM file is the byte order by its sign, and its size is a unit
# that readers ignore or multiply by.
#
# What happens: OpenCV divides by it. A sample of 2.0 in a file with scale -2.0 is 1.0 by OpenCV and 2.0 by Pillow;
# with -0.5 it is 4.0 and 2.0.
#
# Why: the format has no standard, only a sentence on the units of its samples, which each reader takes its own way.
#
# Whom it hurts: depth and disparity maps (Middlebury's are PFM) from programs that write a scale other than one:
# distances are off by that factor, and nothing says so.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy==2.4.6 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, struct, sys

import cv2, numpy, PIL
from PIL import Image


def read(scale):
    """A sample of 2.0 as OpenCV and Pillow read it."""
    data = b"Pf\n1 1\n%s\n" % scale + struct.pack("<f", 2.0)
    by_opencv = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_UNCHANGED)
    return float(by_opencv[0, 0]), Image.open(io.BytesIO(data)).getpixel((0, 0))


values = read(b"-1.0"), read(b"-2.0"), read(b"-0.5")
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("2.0 as (OpenCV, Pillow): scale -1.0", values[0], "-2.0", values[1], "-0.5", values[2])
sys.exit(values != ((2.0, 2.0), (1.0, 2.0), (4.0, 2.0)))
END
