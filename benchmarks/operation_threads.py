"""Measure the gain from threads inside one operation (FASTINSTALL_THREADS), for several numbers of threads.

    python benchmarks/operation_threads.py ENV/bin/python [--threads 1,2] [--size 4000x3000] [--rounds N] [--only WORD]

The environment must have the fast stack. One process per number of threads runs through all rounds, and the processes
take turns. A figure is the minimum of all rounds in ms. A ratio is the time with the first number of threads, divided
by the time with another number.
"""

import argparse
import contextlib
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

SECONDS = 0.2
SPIN = (0.9, 0.1, 5.0, -0.1, 0.9, 9.0)


def main() -> None:
    """Measure in turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--size", default="4000x3000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    arguments = parser.parse_args()
    numbers = arguments.threads.split(",")
    with contextlib.ExitStack() as stack:
        children = {number: stack.enter_context(start(arguments.python, number, arguments.size)) for number in numbers}
        rows = [row for row in ask(children[numbers[0]], "rows").split(",") if arguments.only in row]
        best = {(row, number): float("inf") for row in rows for number in numbers}
        for _ in range(arguments.rounds):
            for (row, number), least in best.items():
                best[row, number] = min(least, float(ask(children[number], row)))
        for child in children.values():
            child.communicate("")
    print(f"{'ms, ' + arguments.size:30}", *(f"{number:>9}" for number in numbers))
    for row in rows:
        times = [best[row, number] for number in numbers]
        ratios = (f"{times[0] / each:5.2f}" for each in times[1:])
        print(f"{row:30}", *(f"{each:9.2f}" for each in times), "|", *ratios)


def start(python: str, number: str, size: str) -> subprocess.Popen[str]:
    """Start a process that uses a given number of threads per operation, and measures rows on request."""
    variables = {**os.environ, "FASTINSTALL_THREADS": number}
    argv = (python, __file__, "--child", size)
    return subprocess.Popen(argv, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(child: subprocess.Popen[str], word: str) -> str:
    """Send the name of a row to a process, and return its answer."""
    if child.stdin is None or child.stdout is None:
        raise TypeError("a process without pipes")
    print(word, file=child.stdin, flush=True)
    return child.stdout.readline().strip()


def answer(size: str) -> None:
    """Answer requests on stdin: measure the named row, or list all rows."""
    work = make_work(tuple(map(int, size.split("x"))))
    for line in sys.stdin:
        name = line.strip()
        print(",".join(work) if name == "rows" else time_call(work[name]), flush=True)


def time_call(call: Callable[[], object]) -> float:
    """Return the minimum time of a call, in ms."""
    least, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        started = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - started)
    return least * 1000


def make_work(size: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    """Return the operations that may use threads, by name."""
    Image, ImageFilter = map(importlib.import_module, ("PIL.Image", "PIL.ImageFilter"))  # noqa: N806 (PIL's names)
    width, height = size
    noise = Image.effect_noise((width // 4, height // 4), 90).convert("RGB")
    rgb, half = noise.resize((width, height), Image.Resampling.BICUBIC), (width // 2, height // 2)
    band, small = rgb.getchannel(0), (256, height * 256 // width)
    filters = {
        "box blur 3": ImageFilter.BoxBlur(3),
        "Gaussian blur 2": ImageFilter.GaussianBlur(2),
        "unsharp mask": ImageFilter.UnsharpMask(2, 150, 3),
    }
    affine, ways = Image.Transform.AFFINE, ("BOX", "BILINEAR", "BICUBIC", "LANCZOS")
    return {
        **{f"to a half {way.lower()}": partial(rgb.resize, half, Image.Resampling[way]) for way in ways},
        "to a half lanczos L": partial(band.resize, half, Image.Resampling.LANCZOS),
        "to 256 lanczos": partial(rgb.resize, small, Image.Resampling.LANCZOS),
        "from a half bicubic": partial(rgb.reduce(2).resize, rgb.size, Image.Resampling.BICUBIC),
        **{f"reduce {factor}": partial(rgb.reduce, factor) for factor in (2, 8)},
        **{name: partial(rgb.filter, each) for name, each in filters.items()},
        "affine bilinear": partial(rgb.transform, rgb.size, affine, SPIN, Image.Resampling.BILINEAR),
        "affine nearest": partial(rgb.transform, rgb.size, affine, SPIN),
        **{f"median {size}x{size} L": partial(band.filter, ImageFilter.MedianFilter(size)) for size in (3, 5)},
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        answer(sys.argv[2])
    else:
        main()
