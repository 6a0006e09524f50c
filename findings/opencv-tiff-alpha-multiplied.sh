#!/bin/sh
# One would guess: IMREAD_UNCHANGED gives the samples of a file as they are. For PNG and WebP it does.
#
# What happens: OpenCV multiplies the colours of an 8-bit TIFF with straight ("unassociated") alpha by that alpha. 200,
# 100, 50 under alpha 128 is read as 100, 50, 25, and as black under alpha 0. IMREAD_COLOR does so too, although it
# gives no alpha. Pillow reads 200, 100, 50.
#
# Why: OpenCV reads such files by libtiff's interface for display, whose colours are always multiplied by alpha. A
# TIFF that OpenCV wrote itself has no tag ExtraSamples (338), which would say that its fourth sample is alpha, and is
# read back unchanged: a test of OpenCV alone does not show this.
#
# Whom it hurts: compositing of cut-outs and textures, whose edges get dark fringes because alpha is applied twice.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    opencv-python-headless==5.0.0.93 numpy==2.4.6 pillow==13.0.0 || exit 69
cd "$dir"
export OPENCV_LOG_LEVEL=OFF

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL
from PIL import Image

pixels = numpy.array([[[200, 100, 50, 128], [200, 100, 50, 0]]], numpy.uint8)


def encode(kind, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def by_opencv(data, flag=cv2.IMREAD_UNCHANGED):
    """Pixels in the order red, green, blue and, if the flag leaves it, alpha."""
    read = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), flag)
    return cv2.cvtColor(read, cv2.COLOR_BGRA2RGBA if read.shape[2] == 4 else cv2.COLOR_BGR2RGB).tolist()


tiff = encode("TIFF")
from_png, from_webp = by_opencv(encode("PNG")), by_opencv(encode("WEBP", lossless=True, exact=True))
from_tiff, colours = by_opencv(tiff), by_opencv(tiff, cv2.IMREAD_COLOR)
by_pillow = numpy.asarray(Image.open(io.BytesIO(tiff))).tolist()
own = cv2.imencode(".tiff", cv2.cvtColor(pixels, cv2.COLOR_RGBA2BGRA))[1].tobytes()
says_alpha = 338 in Image.open(io.BytesIO(own)).tag_v2
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("by OpenCV: PNG", from_png[0], "TIFF", from_tiff[0], "as colours", colours[0], "- by Pillow:", by_pillow[0])
same = from_png == from_webp == by_pillow == by_opencv(own) == pixels.tolist() and not says_alpha
multiplied = [[100, 50, 25, 128], [0, 0, 0, 0]]
sys.exit(not same or from_tiff != [multiplied] or colours != [[colour[:3] for colour in multiplied]])
END
