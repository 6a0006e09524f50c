#!/bin/sh
# One would guess: GIF has a palette of 256 colours, so a picture of two colours is written exactly.
#
# What happens: OpenCV writes it as a pattern of a dozen other colours, up to 65 levels off, and the file is larger than
# the exact one. With IMWRITE_GIF_DITHER set to 3 it writes the two colours, and so does Pillow.
#
# Why: by default OpenCV does not look which colours a picture has. It takes a palette that is fixed beforehand, with
# few levels a channel, and dithers.
#
# Whom it hurts: diagrams, masks and screen recordings: flat areas become noisy, and colours of labels no longer match.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 numpy==2.4.6 opencv-python-headless==5.0.0.93 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL
from PIL import Image

picture = numpy.empty((64, 64, 3), numpy.uint8)
picture[:32], picture[32:] = (13, 77, 190), (200, 100, 50)


def judge(data):
    """How many colours a GIF has, and how far they are off."""
    read = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    return len(numpy.unique(read.reshape(-1, 3), axis=0)), int(numpy.abs(read.astype(int) - picture).max())


def by_opencv(*options):
    return cv2.imencode(".gif", picture[..., ::-1].copy(), options)[1].tobytes()


stream = io.BytesIO()
Image.fromarray(picture).save(stream, "GIF")
default, exact, by_pillow = by_opencv(), by_opencv(cv2.IMWRITE_GIF_DITHER, 3), stream.getvalue()
seen = {"OpenCV": judge(default), "OpenCV, dither 3": judge(exact), "Pillow": judge(by_pillow)}
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("two colours (colours read, largest difference):", seen, "bytes", len(default), len(exact), len(by_pillow))
colours, difference = seen["OpenCV"]
sys.exit(colours < 8 or difference < 40 or seen["OpenCV, dither 3"] != (2, 0) or seen["Pillow"] != (2, 0)
         or len(default) <= len(exact))
END
