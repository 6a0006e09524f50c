"""Count the instructions that operations execute on aarch64, in several builds of Pillow, with qemu-user.

    python benchmarks/instructions.py --python ROOT/usr/bin/python3.11 NAME=DIR NAME=DIR ... [--only WORD] [--cpu MODEL]
        [--markdown]

Each DIR has an unpacked aarch64 wheel for the Python in ROOT. ROOT is a Debian of that architecture
(`FASTINSTALL_TEST_CACHE=DIR PYTHONPATH=.:tests python -m support.machine.arm_python` creates one in DIR, and prints the
path of its Python). The table gives millions of instructions, and the ratio of the first build's number to each other
build's. Needs qemu-aarch64 7.2 and a C compiler. Instructions are no measure of time: vector instructions take longer
than others, and waiting for memory is not counted.
"""

import argparse
import ctypes
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BEGIN, END = 5001, 5002
"""Numbers of unused system calls that tell `instructions.c` to start and to stop counting."""

OPERATIONS = (
    *(f"resize 1080p-256 RGB {name}" for name in ("box", "bilinear", "bicubic", "lanczos")),
    *(f"resize 1080p-256 L {name}" for name in ("bilinear", "lanczos")),
    *(f"resize 500-800 {mode} {name}" for mode in ("RGB", "RGBA", "L") for name in ("bilinear", "lanczos")),
    *("reduce(2) RGB", "reduce(4) RGB", "reduce(4) L"),
    *("gaussian r5 RGB", "gaussian r5 L", "box blur r5 RGB", "unsharp mask RGB"),
    *("filter 3x3 RGB", "filter 5x5 RGB", "median 5 640x480", "largest 5 640x480", "colour LUT 17"),
    *(f"convert {pair}" for pair in ("RGB-L", "L-RGB", "RGB-YCbCr", "RGB-CMYK", "P-RGB", "RGBA-RGBa", "RGBa-RGBA")),
    *("alpha_composite", "chops add", "chops multiply", "split", "merge"),
    *("flip", "rotate 90", "affine bilinear", "rotate 10 bicubic"),
    *("tobytes", "png encode", "png decode", "jpeg decode 1080p", "decode-256-224 1080p"),
)


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--cpu", default="neoverse-n1", help="as qemu names it")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    builds = dict(each.split("=", 1) for each in arguments.builds)
    names = [name for name in OPERATIONS if arguments.only in name]
    with tempfile.TemporaryDirectory() as space:
        plugin = Path(space) / "instructions.so"
        compiler = shutil.which("cc") or "cc"
        subprocess.run((compiler, "-O2", "-shared", "-fPIC", "-o", plugin, HERE / "instructions.c"), check=True)
        emulator = ("qemu-aarch64", "-cpu", arguments.cpu, "-L", arguments.python.parents[2], "-plugin", plugin)
        counted = {name: count((*emulator, arguments.python), directory, names) for name, directory in builds.items()}
    print_table(counted, names, between=" | " if arguments.markdown else "  ")


def count(python: tuple[object, ...], directory: str, names: list[str]) -> dict[str, int]:
    """Return the number of instructions of each operation that the build in a directory supports."""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join((directory, str(HERE.parent))), "PYTHONHASHSEED": "0"}
    argv = [*map(str, python), __file__, "--count", *names]
    process = subprocess.run(argv, env=variables, check=False, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"{directory}: {process.stderr}")
    done = process.stdout.splitlines()
    numbers = [int(line) for line in process.stderr.splitlines() if line.isdecimal()]
    return dict(zip(done, numbers, strict=True))


def count_here(names: list[str]) -> None:
    """Run each operation once to fill caches, and once between two marks; to be called in the emulated Python."""
    from PIL import Image  # only in the emulated Python

    from fastinstall.proof._worker import photo  # only in the emulated Python
    from fastinstall.proof.operations import HEIGHT, WIDTH, operations  # only in the emulated Python

    mark = ctypes.CDLL(None).syscall
    calls = operations(photo(Image, (WIDTH, HEIGHT)))
    for name in names:
        if name not in calls:
            continue
        calls[name]()
        mark(BEGIN)
        calls[name]()
        mark(END)
        print(name, flush=True)


def print_table(counted: dict[str, dict[str, int]], names: list[str], *, between: str) -> None:
    """Print millions of instructions, and the ratio of the first build's number to each other build's."""
    first, *others = counted
    head = ["millions of instructions", *counted, *(f"{first} / {other}" for other in others)]
    rows = [head, ["---"] * len(head)] if between.strip() else [head]
    for name in names:
        if all(name in each for each in counted.values()):
            ratios = (f"{counted[first][name] / counted[other][name]:.2f}" for other in others)
            rows.append([name, *(f"{each[name] / 1e6:.1f}" for each in counted.values()), *ratios])
    for row in rows:
        print(between.join(f"{cell:<32}" if not number else f"{cell:>12}" for number, cell in enumerate(row)).rstrip())
    for other in others:
        common = counted[first].keys() & counted[other].keys()
        logs = [math.log(counted[first][name] / counted[other][name]) for name in common]
        print(f"\n{first} / {other}: geometric mean of {len(logs)}: {math.exp(sum(logs) / len(logs)):.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        count_here(sys.argv[2:])
    else:
        main()
