"""Measure time, page faults and resident memory per image, in several environments in turn.

    python benchmarks/memory.py NAME=ENV/bin/python ... [--rounds N] [--only WORD] [--json FILE]

Each environment needs Pillow and numpy. Every cell is measured in a fresh process, the environments take turns, and a
figure is the median of the rounds. To measure under a limit of memory, run this program under one, for example by
`docker run --memory 256m` or `systemd-run --scope -p MemoryMax=256M`. Rows named "least" find the smallest `ulimit -v`,
in steps of 4 MB, under which the images can be loaded.
"""

import argparse
import io
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = {"500x375": (500, 375), "1920x1080": (1920, 1080), "4000x3000": (4000, 3000)}
TURNS = {"500x375": 60, "1920x1080": 24, "4000x3000": 6}
PIPELINES = ("decode-256-224-asarray", "decode-asarray")
MANNERS = ("", "other thread", "2 threads", "8 threads", "forked child", "8 workers")
LIMITED = ("decode-asarray 500x375", "decode-asarray 4000x3000", "decode-256-224-asarray 4000x3000")
MB, STEP = 1 << 20, 4
FIGURES = ("ms", "faults", "peak", "end")
Measured = dict[str, float]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in arguments.environments)
    found: dict[str, dict[str, Measured]] = {}
    with tempfile.TemporaryDirectory() as directory:
        start(next(iter(pythons.values())), "draw", directory)
        for row in filter(lambda row: arguments.only in row, list_rows()):
            found[row] = measure_in_turns(row, pythons, directory, arguments.rounds)
            print_row(row, found[row])
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


def list_rows() -> list[str]:
    """Return the names of all rows: pipeline, size, and the kind of threads or processes."""
    usual = [f"{pipeline} {size} {manner}".strip() for manner in MANNERS for size in SIZES for pipeline in PIPELINES]
    return [*usual, *STREAMS, *(f"least {row}" for row in LIMITED)]


def measure_in_turns(row: str, pythons: dict[str, str], directory: str, rounds: int) -> dict[str, Measured]:
    """Measure a row in all environments, and return the medians of each."""
    if row.startswith("least "):
        return {name: find_least(python, row[len("least ") :], directory) for name, python in pythons.items()}
    runs = [{name: start(python, row, directory) for name, python in pythons.items()} for _ in range(rounds)]
    return {
        name: {figure: statistics.median([run[name][figure] for run in runs]) for figure in FIGURES} for name in pythons
    }


def find_least(python: str, row: str, directory: str) -> Measured:
    """Return the smallest limit of the address space, in MB, under which a row's images can be loaded."""
    low, high = 0, 4096 // STEP
    while high - low > 1:
        middle = (low + high) // 2
        try:
            start(python, row, directory, middle * STEP)
        except subprocess.CalledProcessError:
            low = middle
        else:
            high = middle
    return {"MB": high * STEP}


def start(python: str, row: str, directory: str, limit: int = 0) -> Measured:
    """Measure one row in a fresh process, with an optional limit of its address space in MB."""
    argv = (python, "-I", __file__, "--child", row, directory, str(limit))
    answer = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    measured: Measured = json.loads(answer)
    return measured


def print_row(row: str, found: dict[str, Measured]) -> None:
    """Print a row as soon as it is measured, as the whole table takes minutes."""
    texts = (", ".join(f"{value:,.2f} {figure}" for figure, value in cell.items()) for cell in found.values())
    print(row, *map("{}: {}".format, found, texts), sep="\n    ", flush=True)


def run_child(row: str, directory: str, limit: int) -> Measured:
    """Measure a row in this process."""
    if limit:  # the limit must be set before Pillow is imported, because Pillow reads it then
        resource.setrlimit(resource.RLIMIT_AS, (limit * MB, limit * MB))
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if row == "draw":
        return draw(Path(directory))
    if row in STREAMS:
        make, turns = STREAMS[row]
        return measure(make(directory), turns)
    pipeline, size, *manner = row.split(" ", 2)
    data = Path(directory, f"{size}.jpg").read_bytes()
    return run_in_manner(manner[0] if manner else "", make_load(pipeline, data), TURNS[size])


def draw(directory: Path) -> Measured:
    """Write a JPEG of each size."""
    from PIL import Image  # only in a child, once its limit is set

    for name, size in SIZES.items():
        picture = (
            Image.effect_noise((size[0] // 4, size[1] // 4), 90).convert("RGB").resize(size, Image.Resampling.BICUBIC)
        )
        picture.save(directory / f"{name}.jpg", quality=90)
    return {}


def make_load(pipeline: str, data: bytes) -> Callable[[], object]:
    """Return a function that loads one image."""
    import numpy as np  # only in a child, once its limit is set
    from PIL import Image  # only in a child, once its limit is set

    def load_small() -> object:
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        scale = 256 / min(picture.size)
        small = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BILINEAR)
        return np.asarray(small.crop((16, 16, 240, 240)))

    return load_small if pipeline == "decode-256-224-asarray" else lambda: np.asarray(Image.open(io.BytesIO(data)))


def make_thumbnails(directory: str) -> Callable[[], object]:
    """Return a function that picks one of several images of different sizes at random, and makes a thumbnail of it."""
    from PIL import Image  # only in a child, once its limit is set

    chance, data = random.Random(0), Path(directory, "4000x3000.jpg").read_bytes()  # noqa: S311 (the same sizes each time)
    photo = Image.open(io.BytesIO(data)).reduce(2)
    files = []
    for _ in range(24):
        width, target = round(400 * 5 ** chance.random()), io.BytesIO()
        photo.resize((width, width * 3 // 4)).save(target, "JPEG", quality=90)
        files.append(target.getvalue())

    def make() -> object:
        picture = Image.open(io.BytesIO(chance.choice(files)))
        picture.load()
        return picture.resize((200, 150), Image.Resampling.LANCZOS)

    return make


def serve(directory: str) -> Callable[[], object]:
    """Return a function that makes a thumbnail, and keeps the last 100 thumbnails as a caching service does."""
    make, kept, numbers = make_thumbnails(directory), dict[int, object](), itertools.count()

    def answer() -> None:
        kept[next(numbers) % 100] = make()

    return answer


def measure(load: Callable[[], object], turns: int) -> Measured:
    """Measure `turns` loads of an image, after three that warm up."""
    for _ in range(3):
        load()
    times = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(turns):
        started = time.perf_counter()
        load()
        times.append(time.perf_counter() - started)
    faults = (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / turns
    return {"ms": statistics.median(times) * 1000, "faults": faults, **read_memory()}


def read_memory() -> Measured:
    """Return the peak and the present resident memory of this process, in MB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[key].split()[0]) / 1024 for name, key in (("peak", "VmHWM"), ("end", "VmRSS"))}


def run_in_manner(manner: str, load: Callable[[], object], turns: int) -> Measured:
    """Measure in this thread, in other threads, or in forked processes, as `manner` says."""
    if manner == "":
        return measure(load, turns)
    if manner == "forked child":
        load()
        return measure_processes(load, turns, 1)
    if manner == "8 workers":
        return measure_processes(load, max(2, turns // 4), 8)
    return measure_threads(load, turns, 1 if manner == "other thread" else int(manner.removesuffix(" threads")))


def measure_threads(load: Callable[[], object], turns: int, count: int) -> Measured:
    """Measure in new threads, all at once. With several threads, the time is elapsed time divided by images."""
    each = max(2, turns // count)

    def work() -> None:
        for _ in range(each):
            load()

    def work_together() -> float:
        threads = [threading.Thread(target=work) for _ in range(count)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started

    if count == 1:
        found: list[Measured] = []
        thread = threading.Thread(target=lambda: found.append(measure(load, turns)))
        thread.start()
        thread.join()
        return found[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    seconds = work_together()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return {"ms": seconds * 1000 / each / count, "faults": faults / each / count, **read_memory()}


def measure_processes(load: Callable[[], object], turns: int, count: int) -> Measured:
    """Measure in forked processes, all at once.

    The time is the elapsed time divided by the number of images. Memory is summed over the processes, faults averaged.
    """
    started, readers = time.perf_counter(), []
    for _ in range(count):
        reader, writer = os.pipe()
        readers.append(reader)
        if os.fork() == 0:
            os.write(writer, json.dumps(measure(load, turns)).encode())
            os._exit(0)
        os.close(writer)
    answers: list[dict[str, Any]] = [json.loads(os.fdopen(reader).read()) for reader in readers]
    seconds = time.perf_counter() - started
    faults = statistics.mean(answer["faults"] for answer in answers)
    peak, end = (sum(answer[figure] for answer in answers) for figure in ("peak", "end"))
    return {"ms": seconds * 1000 / (turns + 3) / count, "faults": faults, "peak": peak, "end": end}


STREAMS = {"thumbnails": (make_thumbnails, 240), "service": (serve, 600)}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(run_child(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main()
