"""Runs with one PIL: during which operations another thread runs; as JSON."""

import io
import json
import sys
import threading
from collections.abc import Callable

from PIL import Image, ImageChops

ATTEMPTS = 100
"""On a busy machine the other thread often gets no core before a short operation has ended."""


def main() -> None:
    """Print for each operation whether the GIL was released."""
    picture = Image.effect_noise((3000, 2000), 90).convert("RGB")
    turned = picture.transpose(Image.Transpose.ROTATE_180)
    operations: dict[str, Callable[[], object]] = {
        "save PNG": lambda: picture.save(io.BytesIO(), "PNG"),
        "blend": lambda: Image.blend(picture, turned, 0.3),
        "add": lambda: ImageChops.add(picture, turned),
        "multiply": lambda: ImageChops.multiply(picture, turned),
        "histogram": picture.histogram,
    }
    sys.setswitchinterval(1000)  # so that a thread runs only where another one lets it
    json.dump({name: runs_meanwhile(call) for name, call in operations.items()}, sys.stdout)


def runs_meanwhile(operation: Callable[[], object]) -> bool:
    """Whether another thread ran before one of many calls of an operation ended."""
    return any(runs_once(operation, lambda: None) for _ in range(ATTEMPTS))


def runs_once(operation: Callable[[], object], meanwhile: Callable[[], None]) -> bool:
    """Let a thread wait for the GIL and then do something; whether that was done when the operation ends."""
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
