"""Measure what the start-up guard adds to each start of the target's Python.

It is measured in the target's own interpreter, each time in a fresh process that does what `site` does for our `.pth`
and times that alone: the difference of two whole starts would drown in noise. The few microseconds at the end of a
process are not measured.
"""

import time
from pathlib import Path

from fastinstall.core import process
from fastinstall.model.facts import GuardCost
from fastinstall.observe.guard_files import GUARD_ENTRIES, GUARD_PACKAGE

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
        python: path of the target's interpreter, which is run.
        site_packages: of the target, where the guard lies.
        starts: how many processes to time.

    Returns:
        None if the guard does not start, or the interpreter does not.
    """
    from statistics import median  # noqa: PLC0415 (only where something is timed)

    try:
        median_us = median(_time_guard_start(python, site_packages) for _ in range(starts)) / 1000
        whole_ms = median(_time_whole_start(python) for _ in range(0, starts, _TIMED_INSIDE)) * 1000
    except (process.CommandError, ValueError):
        return None
    return GuardCost(median_us=median_us, start_ms=whole_ms - median_us / 1000, starts=starts)


def _time_guard_start(python: Path, site_packages: Path) -> int:
    argv = (python, "-I", "-S", "-c", _SCRIPT, site_packages, GUARD_ENTRIES[1], GUARD_PACKAGE)
    return int(process.run(argv, timeout=_MOST_SECONDS).stdout)


def _time_whole_start(python: Path) -> float:
    before = time.perf_counter()
    process.run((python, "-I", "-c", "pass"), timeout=_MOST_SECONDS)
    return time.perf_counter() - before
