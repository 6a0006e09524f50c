#!/bin/sh
# One would guess: a TIFF with 16 bits a sample gives the same picture whether its colours are stored pixel by pixel or
# plane by plane.
#
# What happens: Pillow reads an uncompressed RGB TIFF of 16 bits in planes as another picture, without an error: its
# bands are the low and the high bytes of the samples, in turn. The same picture in planes with zlib or LZW, or pixel
# by pixel, is right, and so is libvips.
#
# Why: for uncompressed planes Pillow reads each plane with a raw mode of 8 bits; compressed files are read by libtiff,
# which hands out samples of 16 bits.
#
# Whom it hurts: microscopes, scanners and tifffile.imwrite(..., planarconfig='separate'), whose default is no
# compression.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check install pillow==13.0.0 tifffile==2026.3.3 imagecodecs==2026.3.6 numpy==2.4.6
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import numpy, PIL, tifffile
from PIL import Image

planes = numpy.stack([numpy.full((8, 8), value, numpy.uint16) for value in (10000, 30000, 50000)])


def read(**options):
    """The different colours that Pillow reads."""
    stream = io.BytesIO()
    tifffile.imwrite(stream, planes, photometric="rgb", planarconfig="separate", **options)
    stream.seek(0)
    return sorted(set(Image.open(stream).convert("RGB").get_flattened_data()))


plain, packed = read(), read(compression="zlib")
print("Pillow", PIL.__version__, "tifffile", tifffile.__version__)
print("10000, 30000, 50000 in planes: uncompressed", plain, "zlib", packed)
sys.exit((plain, packed) != ([(16, 48, 80), (39, 117, 195)], [(39, 117, 195)]))
END
