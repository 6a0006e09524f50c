#!/bin/sh
# One would guess: IMREAD_UNCHANGED gives the samples of a file as they are. For PNG and WebP it does.
#
# What happens: OpenCV multiplies the colours of an 8-bit TIFF with straight ("unassociated") alpha by that alpha. 200,
# 100, 50 under alpha 128 is read as 100, 50, 25, and as black under alpha 0. IMREAD_COLOR does so too, although it
# gives no alpha. Pillow and libvips read 200, 100, 50.
#
# Why: OpenCV reads such files by libtiff's interface for display, whose colours are always multiplied by alpha. A
# TIFF that OpenCV wrote itself does not say that its fourth sample is alpha, so it is read back unchanged: a test
# of OpenCV alone does not show this.
#
# Whom it hurts: compositing of cut-outs and textures, whose edges get dark fringes because alpha is applied twice.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check install opencv-python-headless==5.0.0.93 numpy==2.4.6 pillow==13.0.0
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL
from PIL import Image

pixels = numpy.array([[[200, 100, 50, 128], [200, 100, 50, 0]]], numpy.uint8)


def read_by_opencv(kind):
    """RGBA pixels as OpenCV reads them from a file that Pillow wrote."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    data = numpy.frombuffer(file.getvalue(), numpy.uint8)
    return cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_UNCHANGED), cv2.COLOR_BGRA2RGBA).tolist()


from_png, from_tiff = read_by_opencv("PNG"), read_by_opencv("TIFF")
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("unchanged by OpenCV: PNG", from_png[0], "TIFF", from_tiff[0])
sys.exit(from_png != pixels.tolist() or from_tiff != [[[100, 50, 25, 128], [0, 0, 0, 0]]])
END
