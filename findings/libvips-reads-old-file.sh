#!/bin/sh
# One would guess: a program that opens a file anew gets what is in the file.
#
# What happens: pyvips gives the earlier picture where it has opened a file of that name before, although the file has
# other pixels, another size and another time of change, and nobody holds the earlier image any more. So it is for JPEG,
# PNG, TIFF, WebP, GIF and AVIF.
#
# Why: libvips keeps its last operations and finds them by their arguments. For opening, that is the name of the file.
# revalidate=True looks again, and access="sequential" is not kept.
#
# Whom it hurts: services that write each upload to the same temporary name, and tests and notebooks that overwrite a
# picture.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary pyvips \
    pillow==13.0.0 numpy==2.4.6 pyvips==3.2.0 pyvips-binary==8.18.7 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import os, sys

import PIL, pyvips
from PIL import Image


def read(name, **options):
    image = pyvips.Image.new_from_file(name, **options)
    return image.width, round(image.avg(), -1)


def overwrite(name, **options):
    """What is read before and after a file is replaced by a larger and brighter picture."""
    Image.new("L", (16, 16), 10).save(name)
    os.utime(name, (1000, 1000))
    before = read(name, **options)
    Image.new("L", (32, 32), 200).save(name)
    return before, read(name, **options), read(name, revalidate=True)


seen = {name: overwrite(f"picture.{name}") for name in ("jpg", "png", "tif", "webp", "gif", "avif")}
before, after, again = seen["jpg"]
sequential = overwrite("sequential.jpg", access="sequential")
print("pyvips", pyvips.__version__, "libvips", ".".join(str(pyvips.version(part)) for part in range(3)))
print("width and mean: before", before, "after", after, "with revalidate", again)
old, new = (16, 10), (32, 200)
sys.exit(any(each != (old, old, new) for each in seen.values()) or sequential != (old, new, new))
END
