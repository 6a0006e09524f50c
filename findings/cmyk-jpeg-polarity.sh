#!/bin/sh
# One would guess: libraries that hand out the four channels of a CMYK JPEG agree about what 255 means.
#
# What happens: white paper is 0, 0, 0, 0 for Pillow and libvips, and 255, 255, 255, 255 for imagecodecs.
#
# Why: Adobe's files store inverted values. Pillow and libvips invert them again; imagecodecs gives what is stored.
#
# Whom it hurts: prepress and document pipelines that change the decoder. Their pictures become negatives.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary pyvips \
    pillow==13.0.0 numpy==2.4.6 imagecodecs==2026.3.6 pyvips==3.2.0 pyvips-binary==8.18.7 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import imagecodecs, numpy, PIL, pyvips
from PIL import Image

file = io.BytesIO()
Image.new("CMYK", (16, 16), (0, 0, 0, 0)).save(file, "JPEG", quality=100)
data = file.getvalue()
seen = {
    "Pillow": list(Image.open(file).getpixel((8, 8))),
    "libvips": pyvips.Image.new_from_buffer(data, "").numpy()[8, 8].tolist(),
    "imagecodecs": imagecodecs.jpeg_decode(data)[8, 8].tolist(),
}
print("Pillow", PIL.__version__, "imagecodecs", imagecodecs.__version__, "pyvips", pyvips.__version__)
print("white paper of a CMYK JPEG:", seen)
sys.exit(seen != {"Pillow": [0] * 4, "libvips": [0] * 4, "imagecodecs": [255] * 4})
END
