#!/bin/sh
# One would guess: a TIFF with 16 bits a sample gives the same picture whether its colours are stored pixel by pixel or
# plane by plane.
#
# What happens: Pillow reads an uncompressed RGB TIFF of 16 bits in planes as another picture, without an error: its
# pixels are the low and the high bytes of the samples, in turn. The same picture in planes with zlib or LZW, or
# uncompressed pixel by pixel, is right.
#
# Why: for uncompressed planes Pillow reads each plane with a raw mode of 8 bits; compressed files are read by libtiff,
# which hands out samples of 16 bits.
#
# Whom it hurts: microscopes, scanners and tifffile.imwrite(..., planarconfig='separate'), whose default is no
# compression.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 tifffile==2026.3.3 imagecodecs==2026.3.6 numpy==2.4.6 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import numpy, PIL, tifffile
from PIL import Image

planes = numpy.stack([numpy.full((8, 8), value, numpy.uint16) for value in (10000, 30000, 50000)])


def read(samples, planarconfig, **options):
    """The different colours that Pillow reads."""
    stream = io.BytesIO()
    tifffile.imwrite(stream, samples, photometric="rgb", planarconfig=planarconfig, **options)
    stream.seek(0)
    return sorted(set(Image.open(stream).convert("RGB").get_flattened_data()))


plain = read(planes, "separate")
right = [
    read(numpy.moveaxis(planes, 0, -1).copy(), "contig"),
    read(planes, "separate", compression="zlib"),
    read(planes, "separate", compression="lzw"),
]
print("Pillow", PIL.__version__, "tifffile", tifffile.__version__)
print("10000, 30000, 50000: by pixels, and planes with zlib and LZW", right, "- uncompressed planes", plain)
sys.exit(plain != [(16, 48, 80), (39, 117, 195)] or right != [[(39, 117, 195)]] * 3)
END
