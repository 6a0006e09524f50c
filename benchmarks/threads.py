"""Measure how many images per second one thread and several threads of a process load, in several environments.

    python benchmarks/threads.py NAME=ENV/bin/python ... [--threads N] [--rounds N] [--only WORD] [--json FILE]

Each environment needs Pillow and numpy. Every cell is measured in a new process: each thread loads three images to warm
up, then all threads load for a second. The environments take turns, and a figure is the best of the rounds. Ideally,
two threads load twice as many images as one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from memory import PIPELINES, SIZES, draw, make_load

SECONDS, WARM = 1.0, 3
Rates = dict[str, dict[str, float]]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in arguments.environments)
    rows = [f"{pipeline} {size}" for pipeline in PIPELINES for size in SIZES]
    found: dict[str, Rates] = {}
    with tempfile.TemporaryDirectory() as directory:
        run(next(iter(pythons.values())), "draw", directory)
        for row in filter(lambda row: arguments.only in row, rows):
            found[row] = measure_in_turns(row, pythons, (1, arguments.threads), (directory, arguments.rounds))
            print_row(row, found[row])
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


def measure_in_turns(row: str, pythons: dict[str, str], numbers: tuple[int, int], effort: tuple[str, int]) -> Rates:
    """Return the best rates of every environment, with one thread and with several."""
    directory, rounds = effort
    rates: Rates = {name: {} for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            for number in numbers:
                rate = run(python, row, directory, str(number))
                rates[name][str(number)] = max(rate, rates[name].get(str(number), 0.0))
    return rates


def run(python: str, *words: str) -> float:
    """Run this program in a new process, and return the number that it prints."""
    answer = subprocess.run((python, __file__, "--child", *words), check=True, capture_output=True, text=True).stdout
    return float(answer)


def print_row(row: str, rates: Rates) -> None:
    """Print a row as soon as it is measured."""
    texts = []
    for name, cell in rates.items():
        one, several = cell.values()
        texts.append(f"{name} {one:,.0f} {several:,.0f} images/s, {several / one:.2f}")
    print(f"{row:36}", *texts, sep="  ", flush=True)


def measure_rate(row: str, directory: str, threads: int) -> float:
    """Return images per second of all threads of this process together."""
    pipeline, size = row.split()
    load = make_load(pipeline, Path(directory, f"{size}.jpg").read_bytes())
    ready, rates = threading.Barrier(threads), list[float]()

    def work() -> None:
        for _ in range(WARM):
            load()
        ready.wait()
        count, began = 0, time.perf_counter()
        while time.perf_counter() < began + SECONDS:
            load()
            count += 1
        rates.append(count / (time.perf_counter() - began))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(rates)


if __name__ == "__main__":
    if sys.argv[1:3] == ["--child", "draw"]:
        print(len(draw(Path(sys.argv[3]))))
    elif sys.argv[1:2] == ["--child"]:
        print(measure_rate(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        main()
