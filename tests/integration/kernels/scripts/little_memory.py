"""Script: runs operations with ever less memory; each must end with its picture or with MemoryError.

Each try is a process whose address space may grow by a limited number of bytes (RLIMIT_AS). Pictures are three rows
high and very wide, so that temporary buffers are as large as the result and fail before it. Prints each kind of ending,
and for an unexpected ending also the operation and the growth. The environment variable TRIED selects operations by the
beginning of their names.
"""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageFilter

WIDTH = 120_000
STEP, MOST = 1 << 17, 1 << 23
"""Bytes; with MOST, every operation succeeds."""

UNEVEN = (0.31, -1.7, 1.9, 0.05, 1.12, -0.66, 0.93, -1.21, 0.47)
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "reduce": lambda image: image.reduce((2, 3)),
    "reduce-rows": lambda image: image.reduce((1, 3)),
    "filter": lambda image: image.filter(ImageFilter.Kernel((3, 3), UNEVEN, 1.0)),
    "filter-integers": lambda image: image.filter(ImageFilter.SMOOTH),
    "resize": lambda image: image.resize((WIDTH // 2, 2), Image.Resampling.BICUBIC),
    "resize-columns": lambda image: image.resize((WIDTH, 2), Image.Resampling.BICUBIC),
    "resize-rows": lambda image: image.resize((WIDTH // 2, 3), Image.Resampling.BICUBIC),
    "box-blur": lambda image: image.filter(ImageFilter.BoxBlur(1)),
    "unsharp-mask": lambda image: image.filter(ImageFilter.UnsharpMask()),
    "median": lambda image: image.filter(ImageFilter.MedianFilter(3)),
    "colour-table": lambda image: image.filter(ImageFilter.Color3DLUT(33, [0.5] * 3 * 33**3)),
    "split": lambda image: image.split()[-1],
    "alpha-composite": lambda image: Image.alpha_composite(image, image),
    "rotate": lambda image: image.rotate(1, Image.Resampling.BICUBIC),
    "turn": lambda image: image.transpose(Image.Transpose.TRANSPOSE),
    "premultiply": lambda image: image.convert("RGBa"),
    "bytes": lambda image: Image.frombytes("L", (64, 1), image.tobytes()[:64]),
}
MODES = {"alpha-composite": "RGBA", "premultiply": "RGBA"}


def use_up_memory() -> list[bytearray]:
    """Allocate all free memory that malloc holds, so that each further block makes the address space grow."""
    taken = []
    for size in (1 << 22, 1 << 20, 1 << 18, 1 << 16, 1 << 14):
        while True:
            try:
                taken.append(bytearray(size))
            except MemoryError:
                break
    return taken


def limit_growth(growth: int) -> list[bytearray]:
    """Limit the growth of the address space, in bytes; return blocks of memory that the caller must keep alive."""
    size = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
    taken = use_up_memory()
    resource.setrlimit(resource.RLIMIT_AS, (size + growth, resource.RLIM_INFINITY))
    return taken


def ending(operation: Callable[[Any], Any], image: Any, growth: int) -> str:
    """Return the ending of one try: "picture", an exception, or a signal."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        taken = limit_growth(growth)
        try:
            operation(image)
            word = "picture"
        except MemoryError:
            word = "MemoryError"
        except BaseException as error:  # noqa: BLE001 (any exception is a result)
            word = f"{type(error).__name__}: {error}"
        del taken
        os.write(writing, word.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        word = stream.read()
    _, status = os.waitpid(child, 0)
    return word or f"died: {status}"


def main(tried: str) -> None:
    """Try the operations whose names begin with `tried`."""
    endings = set()
    for name, operation in OPERATIONS.items():
        image = Image.new(MODES.get(name, "RGB"), (WIDTH, 3), 77)
        operation(image)  # the first call imports modules, which would need memory during a try
        for growth in range(0, MOST, STEP) if name.startswith(tried) else ():
            word = ending(operation, image, growth)
            endings.add(word if word in ("picture", "MemoryError") else f"{word.partition(':')[0]}: {name}/{growth}")
    sys.stdout.write("".join(f"{each}\n" for each in sorted(endings)))


main(os.environ.get("TRIED", ""))
