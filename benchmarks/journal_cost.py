"""Measure the time that the journal and fsync take in a setup, and the time of a rollback.

    python benchmarks/journal_cost.py [--runs N]

Creates a virtual environment with stock Pillow below a temporary directory (set TMPDIR to choose the disk). Then sets
it up, with the wheel from the cache, and rolls it back repeatedly: alternately with the real fsync, and with one that
does nothing. The journal's part is the time of the calls that exist for it: creating a transaction's directories,
recording the moves (with digests of all new files, synced to disk), making the moves, and committing. Then a staged
tree is synced to disk in several ways. Prints tables in Markdown: minima and medians in milliseconds, and ratios of the
medians.
"""

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fastinstall.core import files

TOOL = (sys.executable, "-m", "fastinstall")
STOCK = "pillow==12.1.1"
INSIDE = """
import json, os, sys, time
from pathlib import Path
real, spent = os.fsync, {"fsync": 0.0, "journal": 0.0, "calls": 0}
def fsync(descriptor):
    spent["calls"] += 1
    if sys.argv[1] == "with":
        real(descriptor)
os.fsync = fsync
from fastinstall.cli.main import main
from fastinstall.journal import store as footing
from fastinstall.journal.transaction import Transaction
def timed(owner, name):
    call = getattr(owner, name)
    def measured(*arguments, **keywords):
        start = time.perf_counter()
        try:
            return call(*arguments, **keywords)
        finally:
            spent["journal"] += time.perf_counter() - start
    setattr(owner, name, measured)
for owner, name in ((footing, "lay"), (Transaction, "perform"), (Transaction, "add"), (Transaction, "commit")):
    timed(owner, name)
code = main(sys.argv[3:])
Path(sys.argv[2]).write_text(json.dumps(spent))
sys.exit(code)
"""


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="fastinstall-journal-") as name:
        scratch = Path(name)
        prefix = environment(scratch / "env")
        setup(prefix, scratch, "with")
        rollback(prefix)
        table("a setup, and its way back", whole(prefix, scratch, runs))
        setup(prefix, scratch, "with")
        site = next(prefix.glob("lib/python3*/site-packages"))
        tree = scratch / "tree"
        shutil.copytree(site / "PIL", tree, symlinks=True)
        number = sum(len(names) + 1 for _, _, names in os.walk(tree))
        table(f"{number} staged files and directories forced to the disk", forced(tree, scratch, runs * 2))


def whole(prefix: Path, scratch: Path, runs: int) -> Mapping[str, list[float]]:
    """Set up with and without fsync in turn, and roll back each time; return the seconds of each measured part."""
    found: dict[str, list[float]] = {}
    for _ in range(runs):
        for kind in ("with", "without"):
            taken, inside = setup(prefix, scratch, kind)
            found.setdefault(f"setup, {kind} fsync", []).append(taken)
            found.setdefault(f"of it the journal, {kind} fsync", []).append(inside["journal"])
            found.setdefault("rollback, whole process", []).append(rollback(prefix))
    return found


def setup(prefix: Path, scratch: Path, kind: str) -> tuple[float, dict[str, float]]:
    """Set up; return the seconds of the whole process, and the measurements made inside it."""
    notes = scratch / "notes.json"
    taken = seconds(lambda: run((sys.executable, "-c", INSIDE, kind, notes, "setup", "--yes", "--prefix", prefix)))
    return taken, json.loads(notes.read_text())


def rollback(prefix: Path) -> float:
    """Roll back; return the seconds of the whole process."""
    return seconds(lambda: run((*TOOL, "rollback", "--yes", "--prefix", prefix)))


def forced(tree: Path, scratch: Path, runs: int) -> Mapping[str, list[float]]:
    """Sync a new copy of the tree in each way; return the seconds of every run."""
    ways: dict[str, Callable[[Path], object]] = {
        "as fastinstall does it": files.sync_tree,
        "one by one": _one_by_one,
        "4 at a time": lambda copy: _at_once(copy, 4),
        "16 at a time": lambda copy: _at_once(copy, 16),
        "syncfs(2)": _sync_filesystem,
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(runs):
        for name, way in ways.items():
            copy = scratch / f"copy-{number}"
            shutil.copytree(tree, copy, symlinks=True)
            found[name].append(seconds(lambda way=way, copy=copy: way(copy)))  # type: ignore[misc]  # called at once
            shutil.rmtree(copy)
    return found


def _paths(tree: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(tree, topdown=False):
        yield from (Path(directory, name) for name in names)
        yield Path(directory)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _one_by_one(tree: Path) -> None:
    for path in _paths(tree):
        _sync(path)


def _at_once(tree: Path, count: int) -> None:
    with ThreadPoolExecutor(max_workers=count) as pool:
        list(pool.map(_sync, _paths(tree)))


def _sync_filesystem(tree: Path) -> None:
    descriptor = os.open(tree, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        raise OSError(ctypes.get_errno(), "syncfs")
    os.close(descriptor)


def environment(prefix: Path) -> Path:
    """Create a virtual environment with stock Pillow."""
    run((sys.executable, "-m", "venv", prefix))
    run((prefix / "bin/python", "-m", "pip", "install", "-q", "--no-deps", STOCK))
    return prefix


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def run(argv: Sequence[str | Path]) -> None:
    """Run a command; if it fails, end the benchmark with its output."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{argv}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def table(title: str, times: Mapping[str, list[float]]) -> None:
    """Print a table with a row for each measurement, and its ratio to the first."""
    base = statistics.median(next(iter(times.values())))
    print(f"\n| {title} | min ms | median ms | ratio |\n|---|---:|---:|---:|")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"| {name} | {min(values) * 1000:.1f} | {middle * 1000:.1f} | {middle / base:.3f} |")


if __name__ == "__main__":
    main()
