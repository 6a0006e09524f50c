#!/bin/sh
# One would guess: pillow-heif's quality=-1, which its documentation calls lossless, gives the pixels back.
#
# What happens: noise comes back up to 216 levels off. chroma=444 alone leaves 1. With matrix_coefficients=0 alone,
# which stores RGB planes, it becomes worse (about 250): only both together are lossless.
#
# Why: quality -1 makes the encoder lossless, but the picture is converted to YCbCr and its chroma halved before.
# With RGB planes it is then red and blue that are halved.
#
# Whom it hurts: archives that convert originals to HEIF and delete them.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 numpy==2.4.6 pillow-heif==1.8.1 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import numpy, pillow_heif
from PIL import Image

noise = numpy.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=numpy.uint8)


def loss(**options):
    """The largest difference after lossless encoding with these options."""
    file = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(noise)).save(file, quality=-1, **options)
    return int(numpy.abs(numpy.asarray(pillow_heif.open_heif(file)).astype(int) - noise).max())


plain, rgb = loss(), loss(matrix_coefficients=0)
chroma, both = loss(chroma=444), loss(chroma=444, matrix_coefficients=0)
print("pillow-heif", pillow_heif.__version__, "libheif", pillow_heif.libheif_version())
print(f"largest difference: quality -1 {plain}, RGB planes {rgb}, 4:4:4 {chroma}, both {both}")
sys.exit(plain < 100 or rgb < 100 or chroma != 1 or both != 0)
END
