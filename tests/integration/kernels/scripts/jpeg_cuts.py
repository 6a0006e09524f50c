"""Script for one PIL: truncates large JPEG files at many lengths, and decodes each at once and in pieces."""

import hashlib
import io
import sys
from collections.abc import Mapping

from decoded import feed, read  # type: ignore[import-not-found]  # in this directory
from PIL import Image, ImageFile

CUTS = 40
FORMS = (
    ("RGB", {"quality": 60}),
    ("RGB", {"quality": 60, "subsampling": 0, "progressive": True}),
    ("L", {"quality": 60, "restart_marker_rows": 3}),
    ("CMYK", {"quality": 60}),
)
SIDE = {"RGB": 1024, "L": 2048, "CMYK": 1024}
"""Side lengths in pixels: pictures exceed 2 MB, from which on rows are decoded into the picture itself."""


def main() -> None:
    """Print the result of each truncation."""
    for mode, options in FORMS:
        data = encode(mode, options)
        for cut in range(1, CUTS + 1):
            part = data[: len(data) * cut // CUTS]
            for accepted in (False, True):
                ImageFile.LOAD_TRUNCATED_IMAGES = accepted
                sys.stdout.write(f"{mode} {options} {cut} {accepted} {read(part)} {feed(part, 5000)}\n")


def encode(mode: str, options: Mapping[str, object]) -> bytes:
    """Return a JPEG file of noise, coarse so that the file is small."""
    count, side, stream = len(mode), SIDE[mode], io.BytesIO()
    coarse = Image.frombytes(mode, (32, 32), hashlib.shake_128(mode.encode()).digest(32 * 32 * count))
    coarse.resize((side, side), Image.Resampling.BILINEAR).save(stream, "JPEG", **options)
    return stream.getvalue()


if __name__ == "__main__":
    main()
