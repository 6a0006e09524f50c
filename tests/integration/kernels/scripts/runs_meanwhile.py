"""Script for one PIL: prints as JSON during which operations another thread runs."""

import io
import json
import sys
import threading
from collections.abc import Callable

from PIL import Image, ImageChops

ATTEMPTS = 100
"""Calls per operation: on a busy machine, the other thread often gets no core before a short operation ends."""


def main() -> None:
    """Print for each operation whether it released the GIL."""
    picture = Image.effect_noise((3000, 2000), 90).convert("RGB")
    turned = picture.transpose(Image.Transpose.ROTATE_180)
    operations: dict[str, Callable[[], object]] = {
        "save PNG": lambda: picture.save(io.BytesIO(), "PNG"),
        "blend": lambda: Image.blend(picture, turned, 0.3),
        "add": lambda: ImageChops.add(picture, turned),
        "multiply": lambda: ImageChops.multiply(picture, turned),
        "histogram": picture.histogram,
    }
    sys.setswitchinterval(1000)  # another thread then runs only if this one releases the GIL
    json.dump({name: runs_meanwhile(call) for name, call in operations.items()}, sys.stdout)


def runs_meanwhile(operation: Callable[[], object]) -> bool:
    """Return True if another thread ran during one of many calls of an operation."""
    return any(runs_once(operation, lambda: None) for _ in range(ATTEMPTS))


def runs_once(operation: Callable[[], object], meanwhile: Callable[[], None]) -> bool:
    """Start a thread that calls `meanwhile` once it gets the GIL; return True if it did so during the operation."""
    gate, ran = threading.Lock(), threading.Event()

    def wait() -> None:
        with gate:
            meanwhile()
            ran.set()

    gate.acquire()
    thread = threading.Thread(target=wait)
    thread.start()
    gate.release()
    operation()
    released = ran.is_set()
    thread.join()
    return released


if __name__ == "__main__":
    main()
