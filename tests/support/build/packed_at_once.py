"""Runs with one PIL: in how many calls a picture is packed, and whether another thread runs meanwhile; as JSON."""

import json
import sys
import threading

from PIL import Image

BLOCK = 65536
ATTEMPTS = 20


def main() -> None:
    """Print the number of calls, and whether the GIL was released in one of them."""
    picture = Image.effect_noise((3000, 2000), 90).convert("RGB")
    content = picture.tobytes()
    pieces = list(pack(picture))
    assert b"".join(pieces) == content
    sys.setswitchinterval(1000)  # so that a thread runs only where another one lets it
    released = any(runs_meanwhile(picture) for _ in range(ATTEMPTS))
    json.dump({"calls": len(pieces), "released": released}, sys.stdout)


def pack(picture: Image.Image) -> list[bytes]:
    """What `Image.tobytes` joins."""
    encoder = Image._getencoder(picture.mode, "raw", picture.mode)
    encoder.setimage(picture.im, (0, 0, *picture.size))
    pieces, ended = [], 0
    while not ended:
        _, ended, data = encoder.encode(BLOCK)
        pieces.append(data)
    return pieces


def runs_meanwhile(picture: Image.Image) -> bool:
    """Let a thread wait for the GIL, and see whether it ran when the picture is packed."""
    gate, ran = threading.Lock(), threading.Event()

    def wait() -> None:
        with gate:
            ran.set()

    gate.acquire()
    thread = threading.Thread(target=wait)
    thread.start()
    gate.release()
    pack(picture)
    found = ran.is_set()
    thread.join()
    return found


if __name__ == "__main__":
    main()
