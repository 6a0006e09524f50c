#!/bin/sh
# One would guess: a library reads samples of 12 bits in one way, whatever the format: as stored, or stretched to 16.
#
# What happens: it depends on the pair of library and format. JPEG 2000: Pillow multiplies by 16, OpenCV and
# imagecodecs do not. AVIF: libvips multiplies by 16, OpenCV and imagecodecs do not, and Pillow gives 8 bits.
#
# Why: each reader of a format decides: some aim at the full range of a type, others hand out what the codec decoded.
# No array says how many bits it has.
#
# Whom it hurts: satellite and medical sets in JPEG 2000 and HDR photos in AVIF: dividing by 65535 or by 4095 is wrong
# by a factor of 16 for one of two libraries.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary pyvips \
    pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy==2.4.6 imagecodecs==2026.3.6 pyvips==3.2.0 \
    pyvips-binary==8.18.7 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, imagecodecs, numpy, PIL, pyvips
from PIL import Image

white = numpy.full((64, 64), 4095, numpy.uint16)
jpeg2000 = imagecodecs.jpeg2k_encode(white, level=0, bitspersample=12, reversible=True)
avif = imagecodecs.avif_encode(white, level=100, bitspersample=12)


def by_pillow(data):
    return int(numpy.asarray(Image.open(io.BytesIO(data))).max())


def by_opencv(data):
    return int(cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_UNCHANGED).max())


def by_libvips(data):
    return int(pyvips.Image.new_from_buffer(data, "").numpy().max())


in_jpeg2000 = by_pillow(jpeg2000), by_opencv(jpeg2000), int(imagecodecs.jpeg2k_decode(jpeg2000).max())
in_avif = by_pillow(avif), by_opencv(avif), int(imagecodecs.avif_decode(avif).max()), by_libvips(avif)
print("Pillow", PIL.__version__, "OpenCV", cv2.__version__, "imagecodecs", imagecodecs.__version__)
print("4095 is read as (Pillow, OpenCV, imagecodecs[, libvips]): JPEG 2000", in_jpeg2000, "AVIF", in_avif)
sys.exit((in_jpeg2000, in_avif) != ((65520, 4095, 4095), (255, 4095, 4095, 65520)))
END
