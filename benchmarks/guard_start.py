"""Measure the time that the guard adds to each start of Python.

    python benchmarks/guard_start.py [--starts N] [--python EXE]...

Creates temporary virtual environments with a tiny PIL: without a guard (twice: the difference of the two is the noise),
with a healthy guard, with a guard without bytecode, and with a guard whose PIL was replaced. For comparison, other
environments have a .pth file of one line, the one of virtualenv, or the one of setuptools; uv installs virtualenv and
setuptools from the index. Python starts in all environments in turn. Prints for each environment the minimum and the
median, their ratios to the first environment, and the median difference (+us) from the first in the same round. All
figures are given for elapsed time and for CPU time; on a busy machine, compare the CPU times.
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

from fastinstall.core import files
from fastinstall.guard.staged_files import stage_guard
from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import GUARD_PACKAGE, render_state

CORE = "PIL/_imaging.so"
UV = Path(sys.executable).with_name("uv")


def main() -> None:
    """Measure and print, one interpreter after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=300, help="starts of each kind")
    parser.add_argument("--python", type=Path, action="append", help="an interpreter to start; may be given repeatedly")
    options = parser.parse_args()
    for python in options.python or [Path(sys.executable)]:
        with tempfile.TemporaryDirectory() as directory:
            kinds = prepare(Path(directory), python)
            print(python, f"{options.starts} starts of each", sep=", ")
            report(measure(kinds, options.starts))


def prepare(directory: Path, python: Path) -> dict[str, Path]:
    """Create the environments; return the prefix of each by its title."""
    kinds = {
        "no guard": make(directory / "none", python, guarded=False),
        "no guard, again": make(directory / "again", python, guarded=False),
        "a .pth of one line": with_line(make(directory / "line", python, guarded=False)),
        "healthy guard": make(directory / "healthy", python, guarded=True),
        "guard, not compiled": make(directory / "source", python, guarded=True),
        "guard, PIL replaced": make(directory / "swapped", python, guarded=True),
        "virtualenv's .pth": with_virtualenv(make(directory / "virtualenv", python, guarded=False), python),
        "setuptools' .pth": with_setuptools(make(directory / "setuptools", python, guarded=False)),
    }
    package = site_packages(directory / "source") / GUARD_PACKAGE
    shutil.rmtree(package / "__pycache__")
    (package / "__pycache__").touch()  # this file prevents writing bytecode, as if the environment were read-only
    (site_packages(directory / "swapped") / CORE).write_bytes(b"another core")
    for prefix in kinds.values():
        start(prefix)  # the first start writes bytecode where it can
    return kinds


def make(prefix: Path, python: Path, *, guarded: bool) -> Path:
    """Create a virtual environment with a PIL of three files, and with the guard if `guarded`."""
    subprocess.run([python, "-m", "venv", "--without-pip", prefix], check=True)
    site = site_packages(prefix)
    (site / "PIL").mkdir()
    (site / "PIL" / "__init__.py").touch()
    (site / "PIL" / "_version.py").write_text('__version__ = "1.0"\n')
    (site / CORE).write_bytes(b"core")
    if guarded:
        install(prefix)
    return prefix


def install(prefix: Path) -> None:
    """Install the guard as setup does: stage its files, compile them, and rename them into place."""
    site = site_packages(prefix)
    status = (site / CORE).stat()
    digest = hashlib.sha256((site / CORE).read_bytes()).hexdigest()
    core = BuiltCore(path=CORE, size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=digest, simd_symbols=())
    stage = prefix / "stage"
    version = site.parent.name.removeprefix("python").rstrip("t")  # "t" marks a build without the GIL
    for name in stage_guard(stage, render_state(site, core, "1.0"), prefix / "bin" / "python", version):
        files.rename(stage / name, site / name)


def with_line(prefix: Path) -> Path:
    """Add a .pth file that does nothing, to measure the time that `site` needs for any such file."""
    (site_packages(prefix) / "line.pth").write_text("import sys\n")
    return prefix


def with_virtualenv(prefix: Path, python: Path) -> Path:
    """Copy the two start-up files that virtualenv writes into an environment (versions before 21 only)."""
    tool, made = prefix.with_name("virtualenv-itself"), prefix.with_name("made-by-virtualenv")
    subprocess.run([UV, "venv", "-q", "--python", python, tool], check=True)
    subprocess.run([UV, "pip", "install", "-q", "--python", tool / "bin" / "python", "virtualenv<21"], check=True)
    subprocess.run([tool / "bin" / "virtualenv", "-q", "--no-seed", "--no-download", made], check=True)
    for name in ("_virtualenv.pth", "_virtualenv.py"):
        shutil.copy2(site_packages(made) / name, site_packages(prefix) / name)
    return prefix


def with_setuptools(prefix: Path) -> Path:
    """Install a real setuptools, for its distutils-precedence.pth."""
    subprocess.run([UV, "pip", "install", "-q", "--python", prefix / "bin" / "python", "setuptools"], check=True)
    return prefix


def site_packages(prefix: Path) -> Path:
    """Return the site-packages directory of an environment."""
    return next(prefix.glob("lib/python3*/site-packages"))


def measure(kinds: dict[str, Path], starts: int) -> dict[str, list[tuple[float, float]]]:
    """Start Python in each environment in turn; return elapsed and CPU milliseconds of every start."""
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for _ in range(starts):
        for kind, prefix in kinds.items():
            times[kind].append(start(prefix))
    return times


def start(prefix: Path) -> tuple[float, float]:
    """Run `python -c pass`, started as directly as possible; return elapsed and CPU milliseconds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FASTINSTALL"))}
    python = os.fspath(prefix / "bin" / "python")
    before = time.perf_counter_ns()
    _, status, usage = os.wait4(os.posix_spawn(python, [python, "-c", "pass"], environment), 0)
    taken = (time.perf_counter_ns() - before) / 1e6
    if status != 0:
        raise SystemExit(f"{python}: wait status {status}")
    return taken, (usage.ru_utime + usage.ru_stime) * 1000


def report(times: dict[str, list[tuple[float, float]]]) -> None:
    """Print a line for each environment: elapsed time, then CPU time, both compared with the first environment."""
    heads = (f"{name + ' min':>10}{'median':>8}{'x min':>7}{'x med':>7}{'+us':>6}" for name in ("clock", "cpu"))
    print(f"{'':<20}{''.join(heads)}")
    base = next(iter(times.values()))
    for kind, values in times.items():
        row = "".join(_compared([value[i] for value in values], [value[i] for value in base]) for i in (0, 1))
        print(f"{kind:<20}{row}")


def _compared(values: list[float], base: list[float]) -> str:
    least, middle = min(values), statistics.median(values)
    extra = statistics.median(one - other for one, other in zip(values, base, strict=True)) * 1000
    ratios = f"{least / min(base):>7.3f}{middle / statistics.median(base):>7.3f}"
    return f"{least:>10.2f}{middle:>8.2f}{ratios}{extra:>6.0f}"


if __name__ == "__main__":
    main()
