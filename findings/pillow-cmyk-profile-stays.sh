#!/bin/sh
# One would guess: convert("RGB") of a CMYK picture gives an RGB picture without the CMYK profile of the file.
#
# What happens: Pillow writes the CMYK profile into the RGB picture when it is saved as PNG, TIFF or AVIF. A PNG of 16
# by 16 pixels has some hundred kilobytes. JPEG and WebP drop every profile, that of an RGB picture too, unless it is
# passed.
#
# Why: convert keeps info["icc_profile"]. PNG, TIFF and AVIF take it from there by default; JPEG and WebP do not.
#
# Whom it hurts: thumbnails of print files, which are a hundred times as large as they should be and say that RGB values
# are ink: ImageCms refuses them. And wide-gamut photos, whose JPEG or WebP no longer says what its colours mean.
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
from PIL import Image, ImageCms

KINDS = ("PNG", "TIFF", "AVIF", "JPEG", "WEBP")


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return Image.open(stream)


def kept(image):
    """The formats that keep a profile, and the colour space of the profile."""
    profiles = {kind: saved(image, kind).info.get("icc_profile") for kind in KINDS}
    return {kind: profile[16:20].decode() for kind, profile in profiles.items() if profile}


ink, screen = bytes(pyvips.Image.profile_load("cmyk")), bytes(pyvips.Image.profile_load("p3"))
from_print = saved(Image.new("CMYK", (16, 16), (0, 200, 200, 0)), "JPEG", icc_profile=ink).convert("RGB")
photo = saved(Image.new("RGB", (16, 16), "red"), "JPEG", icc_profile=screen)
sizes = [saved(from_print, "PNG", icc_profile=profile).fp.getbuffer().nbytes for profile in (ink, None)]
try:
    ImageCms.profileToProfile(from_print, io.BytesIO(from_print.info["icc_profile"]), ImageCms.createProfile("sRGB"))
    refused = False
except ImageCms.PyCMSError:
    refused = True
print("Pillow", PIL.__version__, "pyvips", pyvips.__version__)
print("profile kept: CMYK as RGB", kept(from_print), "RGB", kept(photo), "- bytes of the PNG, with and without:", sizes)
keeping = KINDS[:3]
as_expected = kept(from_print) == dict.fromkeys(keeping, "CMYK") and kept(photo) == dict.fromkeys(keeping, "RGB ")
sys.exit(not as_expected or not refused or sizes[0] < 100 * sizes[1])
END
