#!/bin/sh
# One would guess: a reader that understands WhiteIsZero (photometric 0) in a TIFF understands it with 8 and with 16
# bits.
#
# What happens: Pillow inverts such a picture if it has 8 bits and leaves it as stored if it has 16. So does OpenCV with
# IMREAD_UNCHANGED, while its IMREAD_COLOR inverts both. libvips inverts both, tifffile neither.
#
# Why: Pillow has raw modes with inversion for up to 8 bits and maps 16 bits to a plain one. OpenCV reads 16-bit samples
# as they are, unless it wants 8 bits of them: then libtiff's interface for display does the work.
#
# Whom it hurts: archives of X-rays and scans with more than 8 bits: the negative of a picture goes into training, or
# the positive, by the library and flag that read it.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary pyvips \
    pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy==2.4.6 tifffile==2026.3.3 pyvips==3.2.0 \
    pyvips-binary==8.18.7 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL, pyvips, tifffile
from PIL import Image


def read(kind, value):
    """One sample as Pillow, OpenCV (unchanged, as a colour), libvips and tifffile give it."""
    stream = io.BytesIO()
    tifffile.imwrite(stream, numpy.full((8, 8), value, kind), photometric="miniswhite")
    data = stream.getvalue()
    for_opencv = numpy.frombuffer(data, numpy.uint8)
    return (
        int(numpy.asarray(Image.open(io.BytesIO(data)))[0, 0]),
        int(cv2.imdecode(for_opencv, cv2.IMREAD_UNCHANGED)[0, 0]),
        int(cv2.imdecode(for_opencv, cv2.IMREAD_COLOR)[0, 0, 0]),
        int(pyvips.Image.new_from_buffer(data, "").numpy()[0, 0]),
        int(tifffile.imread(io.BytesIO(data))[0, 0]),
    )


eight, sixteen = read(numpy.uint8, 10), read(numpy.uint16, 2570)
print("Pillow", PIL.__version__, "OpenCV", cv2.__version__, "libvips", pyvips.version(0), pyvips.version(1))
print("(Pillow, OpenCV twice, libvips, tifffile): 10 of 255 is read as", eight, "2570 of 65535 as", sixteen)
sys.exit((eight, sixteen) != ((245, 245, 245, 245, 10), (2570, 2570, 245, 62965, 2570)))
END
