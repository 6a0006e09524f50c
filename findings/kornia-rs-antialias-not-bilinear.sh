#!/bin/sh
# One would guess: resize(..., "bilinear", antialias=True) looks at all pixels that a new pixel covers, as Pillow does.
#
# What happens: kornia-rs gives the same with antialias=True, its default, and with False, and looks at two pixels each
# way: white lines, every eighth column of a picture, vanish when it is made an eighth as wide. With "bicubic" and
# "lanczos" the same argument works.
#
# Why: antialias widens the filter for the two that have a kernel; bilinear has code of its own, without that.
#
# Whom it hurts: training and inference that shrink by kornia-rs's bilinear filter: thin lines and small text come and
# go with their position, and a model sees other pictures than by Pillow.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    kornia-rs==0.2.0 numpy==2.4.6 pillow==13.0.0 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import sys

import kornia_rs, numpy, PIL
from PIL import Image

lines = numpy.zeros((64, 64, 3), numpy.uint8)
lines[:, ::8] = 255


def brightest(kind, antialias):
    return int(kornia_rs.imgproc.resize(lines, (8, 8), kind, antialias=antialias).max())


seen = {kind: (brightest(kind, True), brightest(kind, False)) for kind in ("bilinear", "bicubic", "lanczos")}
by_pillow = int(numpy.asarray(Image.fromarray(lines).resize((8, 8), Image.Resampling.BILINEAR)).max())
print("kornia-rs", kornia_rs.__version__, "Pillow", PIL.__version__)
print("brightest pixel with antialias=True, with False:", seen, "- Pillow's bilinear:", by_pillow)
smooth = min(seen["bicubic"][0], seen["lanczos"][0], by_pillow)
sys.exit(seen["bilinear"] != (0, 0) or smooth < 20)
END
