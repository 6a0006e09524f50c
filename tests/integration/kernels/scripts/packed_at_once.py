"""Script for one PIL: prints as JSON how many calls pack a picture, and whether another thread ran meanwhile.

Also reports on compositing and on saving JPEG files to memory. During the saving, the other thread calls the same
encoder.
"""

import io
import json
import sys
from functools import partial

from PIL import Image
from runs_meanwhile import ATTEMPTS, runs_meanwhile, runs_once  # type: ignore[import-not-found]  # in this directory

BLOCK = 65536


def main() -> None:
    """Print the number of calls, and whether one of them released the GIL."""
    picture = Image.effect_noise((3000, 2000), 90).convert("RGB")
    content = picture.tobytes()
    pieces = list(pack(picture))
    assert b"".join(pieces) == content
    save(picture)  # the first call only imports the plugins
    sys.setswitchinterval(1000)  # another thread then runs only if this one releases the GIL
    released = runs_meanwhile(lambda: pack(picture))
    saved = runs_meanwhile(lambda: save(picture))
    small = picture.crop((0, 0, 100, 100))
    small_saved = runs_meanwhile(lambda: save(small))
    shared = next(filter(None, (share(picture) for _ in range(ATTEMPTS))), "")
    found = {"calls": len(pieces), "released": released, "saved": saved, "small": small_saved, "shared": shared}
    for name, image in (("composited", picture.convert("RGBA")), ("small composited", small.convert("RGBA"))):
        found[name] = runs_meanwhile(partial(Image.alpha_composite, image, image))
    json.dump(found, sys.stdout)


def pack(picture: Image.Image) -> list[bytes]:
    """Return the pieces that `Image.tobytes` joins."""
    encoder = Image._getencoder(picture.mode, "raw", picture.mode)
    encoder.setimage(picture.im, (0, 0, *picture.size))
    pieces, ended = [], 0
    while not ended:
        _, ended, data = encoder.encode(BLOCK)
        pieces.append(data)
    return pieces


def save(picture: Image.Image) -> None:
    """Save to memory."""
    picture.save(io.BytesIO(), "JPEG")


def share(picture: Image.Image) -> str:
    """Save a JPEG while another thread calls its encoder; return the other thread's result; "" if it was late."""
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=75)
    settings = (75, False, 0, False, False, 0, (0, 0), -1, 0, 0, None, b"", b"", b"")
    encoder = Image._getencoder("RGB", "jpeg", ("RGB",), settings)
    encoder.setimage(picture.im, (0, 0, *picture.size))
    answers, pieces, ended = [], [], 0

    def encode() -> None:
        nonlocal ended
        while not ended:
            _, ended, data = encoder.encode(BLOCK)
            pieces.append(data)

    def call_it() -> None:
        if not ended:
            answers.append(encoder.encode(BLOCK))

    runs_once(encode, call_it)
    assert b"".join(pieces) == file.getvalue()
    return repr(answers[0]) if answers else ""


if __name__ == "__main__":
    main()
