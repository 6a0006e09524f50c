#!/bin/sh
# One would guess: image.save("x.jxl") saves the pixels of the image.
#
# What happens: with pillow-jxl-plugin, an image that was opened from a JPEG file and painted on is saved as it was in
# that file. What was painted is lost; the plugin's warning speaks of "JPEG reconstruction" only. A copy() of the image
# is saved with its changes.
#
# Why: the plugin sees format "JPEG" and a file name, reads that file again and repacks it without loss. It does not
# look at the pixels.
#
# Whom it hurts: whoever retouches, annotates or stamps photos in place and archives them as JPEG XL.
# lossless_jpeg=False saves the pixels.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 pillow-jxl-plugin==1.3.8 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import sys, warnings
from importlib.metadata import version

import PIL, pillow_jxl
from PIL import Image

Image.new("RGB", (64, 64), "white").save("photo.jpg", quality=95)


def saved(change, **options):
    """The brightness of the middle of a white JPEG, painted black there and saved as JPEG XL."""
    with Image.open("photo.jpg") as image:
        image = change(image)
        image.paste("black", (16, 16, 48, 48))
        image.save("photo.jxl", **options)
    return Image.open("photo.jxl").convert("L").getpixel((32, 32))


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    opened = saved(lambda image: image)
warned = any("JPEG reconstruction" in str(warning.message) for warning in caught)
asked = saved(lambda image: image, lossless_jpeg=False)
copied = saved(lambda image: image.copy())
print("pillow-jxl-plugin", version("pillow-jxl-plugin"), "Pillow", PIL.__version__)
print(f"painted black, saved and read: {opened}, with lossless_jpeg=False {asked}, from a copy {copied}")
sys.exit(not warned or opened < 250 or max(asked, copied) > 5)
END
