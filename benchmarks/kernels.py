"""Measure the operations that have SIMD kernels in several environments in turn: best milliseconds, and ratios.

    python benchmarks/kernels.py NAME=ENV/bin/python ... [--rounds N] [--only WORD] [--cykooz]

Each environment needs Pillow (stock Pillow, Pillow-SIMD or the stack) and numpy. `--cykooz` adds resizing with
cykooz-resizer, which must be in the first environment. For NAME@EXTENSIONS=PYTHON, the kernels may use only these
optional CPU extensions: "avx512vnni", "avx512", "avxvnni", several with commas, or "none". Such an environment needs a
build with the kernels' test switches: use a copy of the recipe (FASTINSTALL_RECIPES) whose base_cflags have
"-DFI_TEST_SWITCHES". Every round of each environment is a new process.
"""

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

SIZES = (
    ((1920, 1080), (256, 144)),
    ((4928, 3279), (852, 567)),
    ((500, 375), (341, 256)),
    ((500, 375), (800, 600)),
)
MODES = {"RGB": 3, "RGBA": 4, "L": 1}
FILTERS = {"box": 4, "bilinear": 2, "bicubic": 3, "Lanczos": 1}
CYKOOZ = {"box": "box", "bilinear": "bilinear", "bicubic": "catmull_rom", "Lanczos": "lanczos3"}
TIMES, SECONDS = 40, 0.1
Work = Iterator[tuple[str, Callable[[], object]]]


def main() -> None:
    """Measure in turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", nargs="+", metavar="NAME[@EXTENSIONS]=PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--cykooz", action="store_true")
    arguments = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in arguments.environments)
    first = next(iter(pythons.values()))
    columns = [("cykooz", first, "cykooz")] if arguments.cykooz else []
    columns += [(name, python, "pillow") for name, python in pythons.items()]
    best: dict[str, dict[str, float]] = {}
    for _ in range(arguments.rounds):
        for name, python, library in columns:
            for row, seconds in run(python, name, library, arguments.only).items():
                cells = best.setdefault(row, {})
                cells[name] = min(seconds, cells.get(name, math.inf))
    print_table(best, [name for name, _, _ in columns])


def run(python: str, name: str, library: str, only: str) -> dict[str, float]:
    """Measure one round in a new process; return the best seconds of each row."""
    extensions = name.partition("@")[2]
    variables = os.environ | ({"FI_EXTENSIONS": extensions} if extensions else {})
    argv = [python, __file__, "--measure", library, only]
    answer = subprocess.run(argv, env=variables, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def print_table(best: dict[str, dict[str, float]], names: list[str]) -> None:
    """Print the milliseconds of each column, and the ratio of the first column's time to each other column's."""
    print(f"{'ms':34}", *(f"{name:>12}" for name in names), "| ratios")
    ratios: dict[str, list[float]] = {}
    for row, cells in best.items():
        for name in names[1:]:
            if name in cells and names[0] in cells:
                ratios.setdefault(name, []).append(cells[names[0]] / cells[name])
        shown = (f"{cells[name] * 1000:12.3f}" if name in cells else f"{'':12}" for name in names)
        print(f"{row:34}", *shown, "|", *(f"{cells.get(names[0], math.nan) / cells[name]:5.2f}" for name in names[1:]))
    for name, each in ratios.items():
        print(f"{name}: geometric mean {math.exp(sum(map(math.log, each)) / len(each)):.2f}, least {min(each):.2f}")


def measure(library: str, only: str) -> None:
    """Print the best seconds of each call, as JSON."""
    found = {}
    for row, call in (list_cykooz if library == "cykooz" else list_pillow)():
        if only in row:
            end, best = time.perf_counter() + SECONDS, math.inf
            for _ in range(TIMES):
                started = time.perf_counter()
                call()
                best = min(best, time.perf_counter() - started)
                if time.perf_counter() > end and best < math.inf:
                    break
            found[row] = best
    print(json.dumps(found))


def make_bytes(size: tuple[int, int], bands: int) -> bytes:
    """Return noise, the same on each call."""
    np = importlib.import_module("numpy")
    made: bytes = np.random.default_rng(1).integers(0, 256, size[0] * size[1] * bands, np.uint8).tobytes()
    return made


def list_resizing() -> Iterator[tuple[str, str, str, tuple[int, int], tuple[int, int]]]:
    """Yield the rows for resizing: name, mode, filter, old and new size."""
    for mode in MODES:
        for old, new in SIZES:
            for way in FILTERS:
                yield f"resize {mode} {old[0]} to {new[0]}, {way}", mode, way, old, new


def list_cykooz() -> Work:
    """Yield the rows for resizing with cykooz-resizer, on one thread, without alpha."""
    library = importlib.import_module("cykooz_resizer")
    types = {"RGB": library.PixelType.U8x3, "RGBA": library.PixelType.U8x4, "L": library.PixelType.U8}
    resizer = library.Resizer()
    for row, mode, way, old, new in list_resizing():
        source = library.ImageData(*old, types[mode], make_bytes(old, MODES[mode]))
        target = library.ImageData(*new, types[mode])
        algorithm = library.ResizeAlg.convolution(getattr(library.FilterType, CYKOOZ[way]))
        options = library.ResizeOptions(resize_alg=algorithm, use_alpha=False)
        yield row, partial(resizer.resize, source, target, options)


def list_pillow() -> Work:
    """Yield the rows for Pillow: name and call."""
    Image, ImageFilter = map(importlib.import_module, ("PIL.Image", "PIL.ImageFilter"))  # noqa: N806 (PIL's names)
    for row, mode, way, old, new in list_resizing():
        core = Image.frombytes(mode, old, make_bytes(old, MODES[mode])).im
        yield row, partial(core.resize, new, FILTERS[way], (0, 0, *old))
    size = (1000, 800)
    images = {
        mode: Image.frombytes(mode, size, make_bytes(size, n)) for mode, n in [*MODES.items(), ("RGBa", 4), ("LA", 2)]
    }
    table = ImageFilter.Color3DLUT.generate(17, lambda r, g, b: (r * r, g, b * 0.5 + 0.2 * r))
    smooth = ImageFilter.Kernel((5, 5), [1, 2, 3, 2, 1, 2, 4, 6, 4, 2, 3, 6, 9, 6, 3, 2, 4, 6, 4, 2, 1, 2, 3, 2, 1])
    for mode in ("RGB", "RGBA", "LA"):
        yield f"split {mode}", images[mode].im.split
    yield "premultiply", lambda: images["RGBA"].im.convert("RGBa", 0)
    yield "un-premultiply", lambda: images["RGBa"].im.convert("RGBA", 0)
    yield "alpha composite", lambda: Image.alpha_composite(images["RGBA"], images["RGBA"])
    for mode in ("L", "RGB", "RGBA"):
        yield f"3x3 {mode}", partial(images[mode].filter, ImageFilter.SHARPEN)
        yield f"5x5 {mode}", partial(images[mode].filter, smooth)
        yield f"3x3 {mode}, numbers", partial(images[mode].filter, ImageFilter.DETAIL)
        yield f"5x5 {mode}, numbers", partial(images[mode].filter, ImageFilter.SMOOTH_MORE)
    for factor in (2, 3, 4, 5, 8):
        yield f"reduce RGB by {factor}", partial(images["RGB"].reduce, factor)
    yield "colour table", lambda: images["RGB"].filter(table)
    yield "RGB to L", lambda: images["RGB"].convert("L")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:4])
    else:
        main()
