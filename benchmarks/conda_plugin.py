"""Measure the time that the plugin adds to a conda command, and that the activate.d script adds to an activation.

    python benchmarks/conda_plugin.py [--conda EXE] [--runs N] [--starts N]

Runs `conda list` on an empty environment with and without the plugin of this checkout. Then runs shells that read the
script in an environment with a healthy stack, or read an empty script. All variants take turns. The default for --conda
is CONDA_EXE; without either, only shells are measured. Prints the medians of elapsed time and CPU time, and the minimum
of elapsed time, which is the figure to compare on a busy machine.
"""

import argparse
import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.core.directories import hooks_directory
from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import GUARD_STATE, render_state

CORE = "PIL/_imaging.so"
SHELLS = {"bash": ("--norc",), "dash": (), "zsh": ("-f",), "fish": ("--no-config",)}

Command = tuple[Sequence[str], Mapping[str, str]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conda", default=os.environ.get("CONDA_EXE"), help="the conda to measure")
    parser.add_argument("--runs", type=int, default=20, help="of conda, of each kind")
    parser.add_argument("--starts", type=int, default=300, help="of shells, of each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if options.conda:
            report(measure(commands(options.conda, directory), options.runs))
        for shell in filter(shutil.which, SHELLS):
            report(measure(activations(shell, directory), options.starts))


def commands(conda: str, directory: Path) -> dict[str, Command]:
    """Return the commands for `conda list` without the plugin and with it."""
    prefix = directory / "empty"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta/history").touch()
    metadata = directory / "plugin/measured-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: measured\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[conda]\nmeasured = fastinstall.conda_plugin\n")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{metadata.parent}{os.pathsep}{hooks_directory().parent}"
    argv = (conda, "list", "--json", "--prefix", str(prefix))
    return {
        "conda list": (argv, plain),
        "conda list, again": (argv, plain),
        "conda list, plugin": (argv, {**plain, "PYTHONPATH": path}),
    }


def activations(shell: str, directory: Path) -> dict[str, Command]:
    """Return the commands for a shell that reads an empty script, and one that reads ours with a healthy stack."""
    suffix = "fish" if shell == "fish" else "sh"
    ours, empty = hooks_directory() / f"conda/fastinstall.{suffix}", directory / f"empty.{suffix}"
    empty.touch()
    prefix = directory / "stack"
    if not prefix.exists():
        make_stack(prefix / "lib/python3.11/site-packages")
    words = {script: (shell, *SHELLS[shell], "-c", f". '{script}'") for script in (empty, ours)}
    variables = {**os.environ, "CONDA_PREFIX": str(prefix)}
    return {
        f"{shell}, empty": (words[empty], variables),
        f"{shell}, empty, again": (words[empty], variables),
        f"{shell}, activate.d": (words[ours], variables),
    }


def make_stack(site: Path) -> None:
    """Write a PIL of two files, and the guard's state that setup would write for it."""
    (site / "PIL").mkdir(parents=True)
    (site / "PIL/_version.py").write_text('__version__ = "1.0"\n')
    (site / CORE).write_bytes(b"core")
    status = (site / CORE).stat()
    digest = hashlib.sha256(b"core").hexdigest()
    core = BuiltCore(path=CORE, size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=digest, simd_symbols=())
    (site / GUARD_STATE).parent.mkdir()
    (site / GUARD_STATE).write_text(render_state(site, core, "1.0"))


def measure(kinds: Mapping[str, Command], runs: int) -> dict[str, list[tuple[float, float]]]:
    """Run the commands in turn; return elapsed and CPU milliseconds of every run."""
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind, (argv, variables) in kinds.items():
            worked, before = processors_ms(), time.perf_counter_ns()
            subprocess.run(argv, check=True, env=variables, stdout=subprocess.DEVNULL)
            times[kind].append(((time.perf_counter_ns() - before) / 1e6, processors_ms() - worked))
    return times


def processors_ms() -> float:
    """Return the CPU time of all ended children of this process, in milliseconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def report(times: Mapping[str, list[tuple[float, float]]]) -> None:
    """Print a line for each kind of command, with its difference from the first kind."""
    rows = {kind: figures(values) for kind, values in times.items()}
    base = next(iter(rows.values()))
    print(f"{'ms':<24}" + "".join(f"{name:>12}{'more':>9}" for name in ("median", "minimum", "processors")))
    for kind, row in rows.items():
        print(
            f"{kind:<24}"
            + "".join(f"{value:>12.2f}{value - first:>9.2f}" for value, first in zip(row, base, strict=True))
        )


def figures(values: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the median and minimum of elapsed time, and the median of CPU time."""
    walls, works = zip(*values, strict=True)
    return statistics.median(walls), min(walls), statistics.median(works)


if __name__ == "__main__":
    main()
