#!/bin/sh
# One would guess: deflate never makes data much larger: what does not compress is stored, at 5 bytes for each
# 65,535. And level 0 means "stored" everywhere.
#
# What happens: on the pixels of a noisy photo ISA-L's level 0 gives 1.2 times and zlib-ng's level 1 1.04 times the
# size of what went in. zlib's level 1 gives 0.93, and level 0 of zlib and zlib-ng 1.0001.
#
# Why: ISA-L's level 0 is a compression, its fastest. Both write blocks with Huffman codes that are fixed
# beforehand or made from what matching found, and do not go back to stored blocks.
#
# Whom it hurts: whoever takes the fastest level for PNG, TIFF or Zarr as harmless, or sizes a buffer by zlib's
# bound.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    isal==1.9.1 zlib-ng==1.1.0 numpy==2.4.6 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import importlib.metadata, sys, zlib

import numpy
from isal import isal_zlib
from zlib_ng import zlib_ng

y, x = numpy.mgrid[0:500, 0:2000]
photo = numpy.stack([x / 8, y / 2, 255 - x / 16 - y / 4], -1) + numpy.random.default_rng(1).normal(0, 8, (500, 2000, 3))
raw = photo.clip(0, 255).astype(numpy.uint8).tobytes()
sizes = {
    "zlib 0": zlib.compress(raw, 0),
    "zlib 1": zlib.compress(raw, 1),
    "zlib-ng 0": zlib_ng.compress(raw, 0),
    "zlib-ng 1": zlib_ng.compress(raw, 1),
    "ISA-L 0": isal_zlib.compress(raw, 0),
}
ratios = {name: round(len(data) / len(raw), 3) for name, data in sizes.items()}
print("isal", importlib.metadata.version("isal"), "zlib-ng", importlib.metadata.version("zlib-ng"))
print("size compared with what went in:", ratios)
sys.exit(not (ratios["ISA-L 0"] > 1.1 and ratios["zlib-ng 1"] > 1.02 and ratios["zlib 1"] < 1 == ratios["zlib-ng 0"]))
END
