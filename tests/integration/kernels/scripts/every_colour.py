"""Script for one PIL: prints checksums of all 2**24 colours, converted between RGB and HSV, and RGB and YCbCr."""

import array
import sys
import zlib

from PIL import Image

SIDE = 4096


def main() -> None:
    """Print a line for each conversion."""
    pixels = array.array("I", range(SIDE * SIDE)).tobytes()
    colours = Image.frombytes("RGBX", (SIDE, SIDE), pixels).tobytes("raw", "RGB")
    for source, target in (("RGB", "HSV"), ("HSV", "RGB"), ("RGB", "YCbCr"), ("YCbCr", "RGB")):
        made = Image.frombytes(source, (SIDE, SIDE), colours).convert(target)
        sys.stdout.write(f"{source} {target} {zlib.crc32(made.tobytes())}\n")


if __name__ == "__main__":
    main()
