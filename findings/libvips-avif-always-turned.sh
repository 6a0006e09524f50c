#!/bin/sh
# One would guess: no_rotate keeps libvips from turning a picture by its EXIF orientation, in every format.
#
# What happens: it does so for JPEG, PNG, WebP and TIFF. An AVIF is turned all the same.
#
# Why: AVIF and HEIF keep the turn as a property of the picture, which libheif applies while it decodes. libvips asks
# for that always.
#
# Whom it hurts: pipelines that turn pictures themselves, afterwards or by another library: AVIF alone is turned
# twice, or boxes of annotations lie beside their objects.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check install pillow==13.0.0 numpy==2.4.6 pyvips==3.1.1 pyvips-binary==8.18.7
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import PIL, pyvips
from PIL import Image


def thumbnail_size(kind, **options):
    """Width and height of a thumbnail of a picture of 80x40 that EXIF turns by a quarter."""
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (80, 40), "red").save(file, kind, exif=exif)
    thumbnail = pyvips.Image.thumbnail_buffer(file.getvalue(), 20, height=1000, **options)
    return thumbnail.width, thumbnail.height


kinds = ("JPEG", "PNG", "WEBP", "TIFF", "AVIF")
turned = [kind for kind in kinds if thumbnail_size(kind) == (20, 40)]
turned_in_spite = [kind for kind in kinds if thumbnail_size(kind, no_rotate=True) == (20, 40)]
print("pyvips", pyvips.__version__, "libvips", ".".join(str(pyvips.version(part)) for part in range(3)))
print("turned by default:", turned, "- with no_rotate:", turned_in_spite)
sys.exit(turned != list(kinds) or turned_in_spite != ["AVIF"])
END
