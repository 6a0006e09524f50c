#!/bin/sh
# One would guess: IMREAD_REDUCED_COLOR_8 gives the mean of 8 by 8 pixels, whatever the format of the file is.
#
# What happens: so it does for JPEG. Of a PNG, WebP, TIFF or BMP it takes the middle 2 by 2 pixels of each 8 by 8 and
# forgets the others: a pattern that is 6 % white becomes white all over. Odd sizes differ, too: 101 pixels
# become 13 from a JPEG and 12 from the others.
#
# Why: libjpeg decodes at an eighth of the size, from the mean of each block, and rounds up. For other formats OpenCV
# decodes everything and calls resize with INTER_LINEAR_EXACT, which looks at two pixels each way, and rounds down.
#
# Whom it hurts: thumbnails, previews and training sets of mixed formats: text and fine patterns alias in all but JPEGs.
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

pattern = numpy.zeros((96, 96, 3), numpy.uint8)
for y in (3, 4):
    for x in (3, 4):
        pattern[y::8, x::8] = 255


def reduced(pixels, kind):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **({"quality": 100} if kind in ("JPEG", "WEBP") else {}))
    return cv2.imdecode(numpy.frombuffer(stream.getvalue(), numpy.uint8), cv2.IMREAD_REDUCED_COLOR_8)


kinds = ("JPEG", "PNG", "WEBP", "TIFF", "BMP")
means = {kind: round(float(reduced(pattern, kind).mean())) for kind in kinds}
widths = {kind: reduced(numpy.zeros((101, 101, 3), numpy.uint8), kind).shape[1] for kind in kinds}
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("mean", round(float(pattern.mean())), "is read as", means, "- 101 pixels as", widths)
others = kinds[1:]
sys.exit(not 10 < means["JPEG"] < 25 or min(means[kind] for kind in others) < 200
         or widths != {"JPEG": 13} | dict.fromkeys(others, 12))
END
