#!/bin/sh
# One would guess: AVIF with quality 100 means the same everywhere: lossless, or nearly so.
#
# What happens: with OpenCV and imagecodecs every pixel comes back. With Pillow noise comes back up to 209 levels
# off, and with its subsampling switched off (4:4:4) still up to 3. libvips is 1 off.
#
# Why: at 100, OpenCV and imagecodecs store RGB planes without a change of colours. Pillow keeps 4:2:0 chroma
# whatever the quality is, and a conversion to YCbCr that does not round-trip.
#
# Whom it hurts: masks, label maps and screenshots that were stored "losslessly" by Pillow.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check install pillow==13.0.0 numpy==2.4.6 opencv-python-headless==5.0.0.93 imagecodecs==2026.3.6
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, imagecodecs, numpy, PIL
from PIL import Image

noise = numpy.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=numpy.uint8)


def loss(pixels):
    return int(numpy.abs(pixels.astype(int) - noise).max())


def by_pillow(**options):
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "AVIF", quality=100, **options)
    return loss(numpy.asarray(Image.open(file)))


encoded = cv2.imencode(".avif", noise, [cv2.IMWRITE_AVIF_QUALITY, 100])[1]
losses = {
    "OpenCV": loss(cv2.imdecode(encoded, cv2.IMREAD_COLOR)),
    "imagecodecs": loss(imagecodecs.avif_decode(imagecodecs.avif_encode(noise, level=100))),
    "Pillow": by_pillow(),
    "Pillow 4:4:4": by_pillow(subsampling="4:4:4"),
}
print("Pillow", PIL.__version__, "OpenCV", cv2.__version__, "imagecodecs", imagecodecs.__version__)
print("largest difference after AVIF with quality 100:", losses)
lossless = losses["OpenCV"] == losses["imagecodecs"] == 0
sys.exit(not lossless or losses["Pillow"] < 100 or not 1 <= losses["Pillow 4:4:4"] <= 5)
END
