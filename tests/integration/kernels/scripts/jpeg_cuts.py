"""Runs with one PIL: a line for each length at which JPEG files of large pictures are cut, read whole and in pieces."""

import hashlib
import io
import sys
from collections.abc import Mapping

from decoded import feed, read  # type: ignore[import-not-found]  # lies beside it
from PIL import Image, ImageFile

CUTS = 40
FORMS = (
    ("RGB", {"quality": 60}),
    ("RGB", {"quality": 60, "subsampling": 0, "progressive": True}),
    ("L", {"quality": 60, "restart_marker_rows": 3}),
    ("CMYK", {"quality": 60}),
)
SIDE = {"RGB": 1024, "L": 2048, "CMYK": 1024}
"""Of pictures of more than the 2 MB from which on rows are decoded into the picture itself."""


def main() -> None:
    """Print what becomes of each cut."""
    for mode, options in FORMS:
        data = encode(mode, options)
        for cut in range(1, CUTS + 1):
            part = data[: len(data) * cut // CUTS]
            for accepted in (False, True):
                ImageFile.LOAD_TRUNCATED_IMAGES = accepted
                sys.stdout.write(f"{mode} {options} {cut} {accepted} {read(part)} {feed(part, 5000)}\n")


def encode(mode: str, options: Mapping[str, object]) -> bytes:
    """A picture of coarse noise, so that the file is small."""
    count, side, stream = len(mode), SIDE[mode], io.BytesIO()
    coarse = Image.frombytes(mode, (32, 32), hashlib.shake_128(mode.encode()).digest(32 * 32 * count))
    coarse.resize((side, side), Image.Resampling.BILINEAR).save(stream, "JPEG", **options)
    return stream.getvalue()


if __name__ == "__main__":
    main()
