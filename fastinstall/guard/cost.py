"""What the start-up guard costs, measured where it runs: in the target's own interpreter, each time in a fresh process.

Each process does what `site` does for our `.pth`, and times that alone: a difference of two whole starts would drown in
the noise of a machine that has other things to do. Not measured: the few microseconds at the end of a process.
"""

import time
from pathlib import Path

from fastinstall.guard.install import GUARD_ENTRIES, GUARD_PACKAGE
from fastinstall.model.pins import GuardCost
from fastinstall.system import process

_SCRIPT = """
import os, site, sys
from time import perf_counter_ns
directory, name, package = sys.argv[1:]
sys.path.append(directory)
known = set(sys.path)
os.environ.pop("FASTINSTALL_GUARD", None)
if sys.version_info >= (3, 15):
    def begin(): __import__(package).start()
else:
    def begin(): site.addpackage(directory, name, known)
before = perf_counter_ns()
begin()
begin()  # site reads the directory of a virtual environment twice
after = perf_counter_ns()
print(after - before if package in sys.modules else "")
"""
_MOST_SECONDS = 10.0
_TIMED_INSIDE = 3  # for each whole start that is timed from outside: that is long, and needs fewer


def measure_cost(python: Path, site_packages: Path, starts: int = 20) -> GuardCost | None:
    """Time what the guard does at a start of an interpreter.

    Args:
        python: the target's interpreter.
        site_packages: of the target, where the guard lies.
        starts: how many processes to time.

    Returns:
        None where the guard does not start, or the interpreter does not.
    """
    timed: list[int] = []
    whole: list[float] = []
    try:
        for number in range(starts):
            timed.append(_start_of_guard(python, site_packages))
            if number % _TIMED_INSIDE == 0:
                whole.append(_whole_start(python))
    except (process.CommandError, ValueError):
        return None
    if not timed:
        return None
    import statistics  # noqa: PLC0415 (only where something was timed)

    median_us = statistics.median(timed) / 1000
    return GuardCost(median_us=median_us, start_ms=statistics.median(whole) * 1000 - median_us / 1000, starts=starts)


def _start_of_guard(python: Path, site_packages: Path) -> int:
    argv = (python, "-I", "-S", "-c", _SCRIPT, site_packages, GUARD_ENTRIES[1], GUARD_PACKAGE)
    return int(process.run(argv, timeout=_MOST_SECONDS).stdout)


def _whole_start(python: Path) -> float:
    before = time.perf_counter()
    process.run((python, "-I", "-c", "pass"), timeout=_MOST_SECONDS)
    return time.perf_counter() - before
