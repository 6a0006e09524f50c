#!/bin/sh
# One would guess: no_rotate keeps libvips from turning a picture by its EXIF orientation, in every format.
#
# What happens: it does so for JPEG, PNG, WebP and TIFF. An AVIF is turned all the same, by new_from_buffer too, which
# turns no other format.
#
# Why: an AVIF keeps the turn as a property of the picture, not in EXIF alone, and the library that decodes it applies
# that property before libvips sees the pixels.
#
# Whom it hurts: pipelines that turn pictures themselves, afterwards or by another library: AVIF alone is turned
# twice, or boxes of annotations lie beside their objects.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary pyvips \
    pillow==13.0.0 numpy==2.4.6 pyvips==3.2.0 pyvips-binary==8.18.7 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import PIL, pyvips
from PIL import Image


def encode(kind):
    """A picture of 80x40 that EXIF turns by a quarter."""
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (80, 40), "red").save(file, kind, exif=exif)
    return file.getvalue()


def kinds_turned(read):
    return [kind for kind, data in files.items() if read(data).height > read(data).width]


files = {kind: encode(kind) for kind in ("JPEG", "PNG", "WEBP", "TIFF", "AVIF")}
by_default = kinds_turned(lambda data: pyvips.Image.thumbnail_buffer(data, 20))
with_no_rotate = kinds_turned(lambda data: pyvips.Image.thumbnail_buffer(data, 20, no_rotate=True))
opened = kinds_turned(lambda data: pyvips.Image.new_from_buffer(data, ""))
print("pyvips", pyvips.__version__, "libvips", ".".join(str(pyvips.version(part)) for part in range(3)))
print("turned by thumbnail:", by_default, "- with no_rotate:", with_no_rotate, "- by new_from_buffer:", opened)
sys.exit(by_default != [*files] or with_no_rotate != ["AVIF"] or opened != ["AVIF"])
END
