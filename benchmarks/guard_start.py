"""What the guard costs at each start of Python: starts with and without it, interleaved.

    python benchmarks/guard_start.py [--starts N] [--python EXE]

Makes throw-away virtual environments with a tiny PIL: no guard (twice: the difference of the two is the noise), a
healthy guard, one without bytecode, and one over a PIL that was replaced. Prints median and minimum, and their ratios
to the first. The minimum is the one to compare where the machine has other things to do.
"""

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fastinstall.guard.install import GUARD_PACKAGE, guard_target, stage_guard
from fastinstall.model.receipt import BuiltCore
from fastinstall.system import files

CORE = "PIL/_imaging.so"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=300, help="starts of each kind")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the interpreter to start")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        kinds = prepare(Path(directory), options.python)
        report(measure(kinds, options.starts))


def prepare(directory: Path, python: Path) -> dict[str, Path]:
    """Environments by what is in them; the value is the interpreter to start."""
    kinds = {
        "no guard": make(directory / "none", python, guarded=False),
        "no guard, again": make(directory / "again", python, guarded=False),
        "healthy guard": make(directory / "healthy", python, guarded=True),
        "guard, not compiled": make(directory / "source", python, guarded=True),
        "guard, PIL replaced": make(directory / "swapped", python, guarded=True),
    }
    package = site_packages(directory / "source") / GUARD_PACKAGE
    shutil.rmtree(package / "__pycache__")
    (package / "__pycache__").touch()  # so that no bytecode can be written, as in a read-only environment
    (site_packages(directory / "swapped") / CORE).write_bytes(b"another core")
    return kinds


def make(prefix: Path, python: Path, *, guarded: bool) -> Path:
    """A virtual environment with a PIL of three files, and the guard over it."""
    subprocess.run([python, "-m", "venv", "--without-pip", prefix], check=True)
    site = site_packages(prefix)
    (site / "PIL").mkdir()
    (site / "PIL" / "__init__.py").touch()
    (site / "PIL" / "_version.py").write_text('__version__ = "1.0"\n')
    (site / CORE).write_bytes(b"core")
    if guarded:
        install(prefix)
    return prefix / "bin" / "python"


def install(prefix: Path) -> None:
    """Install the guard as setup does: staged, compiled, renamed."""
    site = site_packages(prefix)
    status = (site / CORE).stat()
    digest = hashlib.sha256((site / CORE).read_bytes()).hexdigest()
    core = BuiltCore(path=CORE, size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=digest, simd_symbols=())
    stage = prefix / "stage"
    for name in stage_guard(stage, guard_target(site, core, "1.0"), prefix / "bin" / "python"):
        files.rename(stage / name, site / name)


def site_packages(prefix: Path) -> Path:
    """Where the environment's packages lie."""
    return next(prefix.glob("lib/python3*/site-packages"))


def measure(kinds: dict[str, Path], starts: int) -> dict[str, list[float]]:
    """Milliseconds of `python -c pass`, each kind in turn."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FASTINSTALL"))}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(starts):
        for kind, python in kinds.items():
            before = time.perf_counter_ns()
            subprocess.run([python, "-c", "pass"], check=True, env=environment)
            times[kind].append((time.perf_counter_ns() - before) / 1e6)
    return times


def report(times: dict[str, list[float]]) -> None:
    """One line for each kind, compared with the first."""
    base = next(iter(times.values()))
    print(f"{'':<22}{'median ms':>10}{'min ms':>9}{'x median':>10}{'x min':>8}{'+us median':>12}")
    for kind, values in times.items():
        median, least = statistics.median(values), min(values)
        extra = (median - statistics.median(base)) * 1000
        ratios = f"{median / statistics.median(base):>10.3f}{least / min(base):>8.3f}"
        print(f"{kind:<22}{median:>10.2f}{least:>9.2f}{ratios}{extra:>12.0f}")


if __name__ == "__main__":
    main()
