"""Check that `fastinstall bench` ranks ways to load photos as a plain torch DataLoader does.

    python benchmarks/rankings.py DIR --prefix ENV [--report FILE.json] [--workers 1,2] [--times N] [--json FILE]

DIR has JPEG photos; ENV is an environment with torch, numpy and the packages of the ways. `fastinstall bench DIR
--json` and `plain_loader.py`, run by ENV's Python, are measured in turn, N times. The best rate of each way counts,
because other programs on the machine only slow it down. With --report, the output of `fastinstall bench` is read from a
file.

Two ways are tied if their rates differ by at most 5 % in either program. Of the other pairs, those that the programs
order differently are inversions. The exit code is 1 if there is an inversion.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastinstall.core import process

PLAIN = Path(__file__).with_name("plain_loader.py")
WAYS = ("pillow-draft", "opencv-area", "opencv-linear", "simplejpeg", "pyvips")
TIED = 0.05
Rates = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The comparison of two rankings of the same ways.

    Attributes:
        pairs: number of pairs that are tied in neither ranking.
        inversions: the pairs among these that the rankings order differently.
    """

    pairs: int
    inversions: tuple[tuple[str, str], ...]

    @property
    def correlation(self) -> float:
        """Kendall's tau over the pairs that are not tied; 1 if all are tied."""
        return 1 - 2 * len(self.inversions) / self.pairs if self.pairs else 1.0


def main() -> int:
    """Measure both programs, and print their rates side by side.

    Returns:
        The exit code: 1 if there is an inversion.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--report", type=Path, help="what fastinstall bench --json printed; else it is run")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--times", type=int, default=3, help="how often both are measured")
    parser.add_argument("--json", type=Path, help="where all figures go")
    arguments = parser.parse_args()
    numbers = [int(each) for each in arguments.workers.split(",")]
    turns = [turn(arguments, numbers) for _ in range(1 if arguments.report else arguments.times)]
    found = {}
    for workers in numbers:
        plain = best([each[workers][1] for each in turns])
        bench = {name: rate for name, rate in best([each[workers][0] for each in turns]).items() if name in plain}
        agreed = agreement(bench, plain)
        print(compared(workers, bench, plain, agreed))
        found[workers] = {"bench": bench, "plain": plain, "inversions": agreed.inversions, "tau": agreed.correlation}
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    return int(any(each["inversions"] for each in found.values()))


def turn(arguments: argparse.Namespace, numbers: Sequence[int]) -> dict[int, tuple[Rates, Rates]]:
    """Run both programs once; return for each number of workers the rates of `bench` and of the plain loader."""
    report = json.loads(arguments.report.read_text() if arguments.report else reported(arguments))
    return {workers: (bench_rates(report, workers), plain_rates(arguments, workers)) for workers in numbers}


def best(turns: Sequence[Rates]) -> Rates:
    """Return the highest rate of each way; leave out ways that were not measured in every turn."""
    shared = set.intersection(*(set(rates) for rates in turns))
    return {name: max(rates[name] for rates in turns) for name in turns[0] if name in shared}


def reported(arguments: argparse.Namespace) -> str:
    """Run `fastinstall bench` on the photos, and return its JSON."""
    command = (sys.executable, "-m", "fastinstall", "bench", arguments.directory, "--prefix", arguments.prefix)
    requests = ("--only", "loading", "--no-build", "--json", "--workers", arguments.workers)
    return process.run((*command, *requests, "--candidates", ",".join(WAYS)), environment=os.environ).stdout


def bench_rates(report: Any, workers: int) -> Rates:  # noqa: ANN401 (any JSON)
    """Return images per second of each candidate in a report of `bench`, and of the baseline as "pillow"."""
    (workload,) = report["workloads"]
    entries = {each["name"]: each for each in workload["candidates"]}
    entries["pillow"] = workload["baseline"]
    return {
        name: rate["images_per_second"]
        for name, entry in entries.items()
        for rate in entry["rates"]
        if rate["workers"] == workers
    }


def plain_rates(arguments: argparse.Namespace, workers: int) -> Rates:
    """Run the plain loader, and return images per second of each way."""
    python = arguments.prefix / "bin" / "python"
    words = (python, PLAIN, arguments.directory, "--workers", str(workers), "--rounds", "3", "--json")
    rates: Rates = json.loads(process.run(words, environment=os.environ).stdout)["rates"]
    return rates


def agreement(bench: Rates, plain: Rates) -> Agreement:
    """Compare two rankings on the ways that both have."""
    shared = sorted(bench.keys() & plain.keys())
    untied = [pair for pair in itertools.combinations(shared, 2) if not (tied(bench, pair) or tied(plain, pair))]
    inverted = [(a, b) for a, b in untied if (bench[a] > bench[b]) != (plain[a] > plain[b])]
    return Agreement(pairs=len(untied), inversions=tuple(inverted))


def tied(rates: Rates, pair: Sequence[str]) -> bool:
    lower, higher = sorted(rates[name] for name in pair)
    return higher <= lower * (1 + TIED)


def compared(workers: int, bench: Rates, plain: Rates, agreed: Agreement) -> str:
    """Format both rankings as lines of text."""
    return "\n".join(_lines(workers, bench, plain, agreed))


def _lines(workers: int, bench: Rates, plain: Rates, agreed: Agreement) -> Iterator[str]:
    yield f"workers: {workers}   images/s   bench   plain   bench/pillow   plain/pillow"
    for name in sorted(bench, key=lambda each: -bench[each]):
        ratios = f"{bench[name] / bench['pillow']:14.2f} {plain[name] / plain['pillow']:14.2f}"
        yield f"{name:18} {bench[name]:17.1f} {plain[name]:7.1f} {ratios}"
    yield f"tau {agreed.correlation:.2f} over {agreed.pairs} pairs that are not tied"
    yield from (f"ordered differently: {a} and {b}" for a, b in agreed.inversions)


if __name__ == "__main__":
    sys.exit(main())
