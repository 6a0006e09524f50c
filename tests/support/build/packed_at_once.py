"""Runs with one PIL: in how many calls a picture is packed, and whether another thread runs meanwhile; as JSON.

The same of pictures that are composited, and of JPEG files that are saved to memory; there the other thread calls the
encoder that is at work.
"""

import io
import json
import sys
import threading
from collections.abc import Callable
from functools import partial

from PIL import Image

BLOCK = 65536
ATTEMPTS = 20


def main() -> None:
    """Print the number of calls, and whether the GIL was released in one of them."""
    picture = Image.effect_noise((3000, 2000), 90).convert("RGB")
    content = picture.tobytes()
    pieces = list(pack(picture))
    assert b"".join(pieces) == content
    save(picture)  # imports what it needs
    sys.setswitchinterval(1000)  # so that a thread runs only where another one lets it
    released = any(runs_meanwhile(lambda: pack(picture)) for _ in range(ATTEMPTS))
    saved = any(runs_meanwhile(lambda: save(picture)) for _ in range(ATTEMPTS))
    small = picture.crop((0, 0, 100, 100))
    small_saved = any(runs_meanwhile(lambda: save(small)) for _ in range(ATTEMPTS))
    shared = [share(picture) for _ in range(ATTEMPTS)]
    answers = sorted({answer for answer in shared if answer})
    found = {"calls": len(pieces), "released": released, "saved": saved, "small": small_saved, "shared": answers}
    for name, image in (("composited", picture.convert("RGBA")), ("small composited", small.convert("RGBA"))):
        composite = partial(Image.alpha_composite, image, image)
        found[name] = any(runs_meanwhile(composite) for _ in range(ATTEMPTS))
    json.dump(found, sys.stdout)


def pack(picture: Image.Image) -> list[bytes]:
    """What `Image.tobytes` joins."""
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
    """Compress by an encoder that another thread calls meanwhile; return its answer, if it had one in time."""
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

    runs_meanwhile(encode, call_it)
    assert b"".join(pieces) == file.getvalue()
    return repr(answers[0]) if answers else ""


def runs_meanwhile(work: Callable[[], object], meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Let a thread wait for the GIL, and see whether it ran when some work is done."""
    gate, ran = threading.Lock(), threading.Event()

    def wait() -> None:
        with gate:
            meanwhile()
            ran.set()

    gate.acquire()
    thread = threading.Thread(target=wait)
    thread.start()
    gate.release()
    work()
    found = ran.is_set()
    thread.join()
    return found


if __name__ == "__main__":
    main()
