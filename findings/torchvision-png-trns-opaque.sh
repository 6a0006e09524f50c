#!/bin/sh
# One would guess: a decoder that is asked for RGBA gives alpha 0 to the colour that a PNG declares as transparent
# (tRNS).
#
# What happens: torchvision.io.decode_png(..., ImageReadMode.RGB_ALPHA) gives 255. OpenCV with IMREAD_UNCHANGED and
# Pillow's convert('RGBA') give 0.
#
# Why: torchvision asks libpng to add an opaque alpha to a file without an alpha channel, and does not have tRNS
# expanded.
#
# Whom it hurts: pictures in RGB whose background is one declared colour, as older sprites and logos: the background
# that other readers drop is part of the training picture.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy==2.4.6 torchvision==0.29.1 torch==2.14.1 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import cv2, numpy, PIL, torch, torchvision
from PIL import Image

stream = io.BytesIO()
Image.new("RGB", (2, 2), (1, 2, 3)).save(stream, "PNG", transparency=(1, 2, 3))
data = stream.getvalue()
tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
alpha = (
    int(torchvision.io.decode_png(tensor, torchvision.io.ImageReadMode.RGB_ALPHA)[3, 0, 0]),
    int(cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_UNCHANGED)[0, 0, 3]),
    Image.open(io.BytesIO(data)).convert("RGBA").getpixel((0, 0))[3],
)
print("torchvision", torchvision.__version__, "OpenCV", cv2.__version__, "Pillow", PIL.__version__)
print("alpha of the transparent colour (torchvision, OpenCV, Pillow):", alpha)
sys.exit(alpha != (255, 0, 0))
END
