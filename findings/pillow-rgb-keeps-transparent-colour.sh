#!/bin/sh
# One would guess: convert("RGB") ends all transparency, as it drops an alpha channel.
#
# What happens: a GIF or PNG with a palette and one transparent entry becomes an RGB picture that remembers the colour
# of that entry. Saved as PNG or GIF, or converted to RGBA, every pixel of that colour is transparent, also where it was
# opaque in the file: black outlines on a transparent background vanish where the transparent entry is black as well.
#
# Why: convert puts the entry's colour into info["transparency"]; PNG and GIF write that as their transparent colour. In
# the palette there were two entries, in RGB there is one colour. convert("RGBA") without a step in between is right.
#
# Whom it hurts: pipelines that open everything with convert("RGB") and store PNG. Without info["transparency"] the
# picture is opaque.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys

import PIL
from PIL import Image


def alpha(image):
    return list(image.convert("RGBA").getchannel("A").get_flattened_data())


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return Image.open(stream)


palette = Image.new("P", (3, 1))
palette.putpalette([0, 0, 0, 0, 0, 0, 255, 0, 0])  # black, black, red
palette.putdata([0, 1, 2])
seen = {}
for kind in ("GIF", "PNG"):
    original = saved(palette, kind, transparency=0)
    rgb = original.convert("RGB")
    seen[kind] = alpha(original), alpha(rgb), alpha(saved(rgb, "PNG")), alpha(saved(rgb, "GIF"))
    del rgb.info["transparency"]
    seen[kind] += (alpha(saved(rgb, "PNG")),)
print("Pillow", PIL.__version__)
print("alpha of transparent black, black, red: in the file, as RGB, saved as PNG, as GIF, without info:", seen)
right, lost, opaque = [0, 255, 255], [0, 0, 255], [255, 255, 255]
sys.exit(seen != {kind: (right, lost, lost, lost, opaque) for kind in ("GIF", "PNG")})
END
