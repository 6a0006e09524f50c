"""Measure the time of fastinstall's commands as whole processes, and of comparable programs.

    python benchmarks/costs.py [--runs N] [--cold]

Creates environments below a temporary directory. With --cold it also compiles: fastinstall's build of the wheel takes
turns with a plain `pip wheel` of pillow-simd with the same flags. Prints the minimum and the median of each, and the
ratio of the minima of the two builds.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

TOOL = (sys.executable, "-m", "fastinstall")
FLAGS = "-O3 -DNDEBUG -fwrapv -ffp-contract=off -march=x86-64-v3"


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fastinstall-costs-") as name:
        scratch = Path(name)
        prefix = environment(scratch / "env")
        run((*TOOL, "setup", "--yes", "--prefix", prefix))
        doctor(prefix, arguments.runs)
        nothing_to_do(prefix, arguments.runs)
        warm_setup(prefix, arguments.runs)
        repair(prefix, arguments.runs)
        if arguments.cold:
            cold_build(scratch, prefix)


def doctor(prefix: Path, runs: int) -> None:
    """Measure the time of `doctor --json`, in full and with --quick, and its peak memory."""
    show("doctor --json", timed(lambda: run((*TOOL, "doctor", "--json", "--prefix", prefix)), runs))
    show("doctor --quick --json", timed(lambda: run((*TOOL, "doctor", "--quick", "--json", "--prefix", prefix)), runs))
    show("python -c pass", timed(lambda: run((sys.executable, "-c", "pass")), runs))
    print(f"{'doctor, peak memory':<34} {peak_megabytes((*TOOL, 'doctor', '--json', '--prefix', prefix)):.0f} MB")


def nothing_to_do(prefix: Path, runs: int) -> None:
    """Measure a second setup, which has nothing to do."""
    show("second setup", timed(lambda: run((*TOOL, "setup", "--yes", "--prefix", prefix)), runs))


def warm_setup(prefix: Path, runs: int) -> None:
    """Measure a setup with the wheel in the cache, and the swap window that it reports."""
    windows: list[float] = []

    def once() -> float:
        run((*TOOL, "rollback", "--yes", "--prefix", prefix))
        start = time.perf_counter()
        said = run((*TOOL, "setup", "--yes", "--prefix", prefix)).stderr
        taken = time.perf_counter() - start
        found = re.search(r"swapped in ([\d.]+) ms", said)
        windows.append(float(found[1]) / 1000 if found else float("nan"))
        return taken

    show("warm setup", [once() for _ in range(runs)])
    show("  of it, the swap window", windows)


def repair(prefix: Path, runs: int) -> None:
    """Measure `doctor --fix` after pip has replaced the stack with stock Pillow."""

    def once() -> float:
        run((prefix / "bin" / "python", "-m", "pip", "install", "-q", "--force-reinstall", "pillow"))
        start = time.perf_counter()
        run((*TOOL, "doctor", "--fix", "--yes", "--json", "--prefix", prefix))
        return time.perf_counter() - start

    show("doctor --fix after a swap", [once() for _ in range(max(3, runs // 2))])


def cold_build(scratch: Path, prefix: Path) -> None:
    """Measure fastinstall's build of the wheel and a plain `pip wheel`, in turn."""
    ours: list[float] = []
    plain: list[float] = []
    for number in range(2):
        cache = {"FASTINSTALL_CACHE_DIR": str(scratch / f"cold-{number}")}
        ours += timed(lambda cache=cache: run((*TOOL, "build", "--prefix", prefix, "-o", scratch / "out"), cache), 1)  # type: ignore[misc]
        plain += timed(lambda: plain_build(scratch, prefix), 1)
    show("cold build", ours)
    show("plain pip wheel, same flags", plain)
    print(f"{'cold build / plain pip wheel':<34} {min(ours) / min(plain):.2f}")


def plain_build(scratch: Path, prefix: Path) -> None:
    """Build Pillow-SIMD as its documentation says, with the flags of our build."""
    target = scratch / "plain"
    shutil.rmtree(target, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "--python", prefix / "bin" / "python")
    options = ("--no-deps", "--no-cache-dir", "--no-binary", "pillow-simd", "-w", target)
    run((*pip, "wheel", "-q", *options, "pillow-simd"), {"CFLAGS": FLAGS})


def environment(prefix: Path) -> Path:
    """Create a virtual environment without Pillow."""
    run((sys.executable, "-m", "venv", prefix))
    return prefix


def run(argv: Sequence[str | Path], variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command; if it fails, end the benchmark with its output."""
    environment_variables = {**os.environ, **(variables or {})}
    done = subprocess.run(argv, env=environment_variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{argv}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def timed(call: Callable[[], object], runs: int) -> list[float]:
    """Return the seconds of each run."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def peak_megabytes(argv: Sequence[str | Path]) -> float:
    """Return the peak resident memory of a process in MB, without its children."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as child:
        _pid, _status, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return usage.ru_maxrss / 1024


def show(name: str, seconds: Sequence[float]) -> None:
    """Print a row: minimum and median in milliseconds."""
    print(f"{name:<34} min {min(seconds) * 1000:9.2f} ms   median {statistics.median(seconds) * 1000:9.2f} ms")


if __name__ == "__main__":
    main()
