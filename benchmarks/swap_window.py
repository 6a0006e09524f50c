"""Measure how long other processes see an inconsistent PIL while fastinstall, pip or uv replaces it.

    python benchmarks/swap_window.py [--runs N]

In a virtual environment, stock Pillow is replaced with a fastinstall build, and restored, by each of these in turn:
`fastinstall setup`; the same without renames that exchange two entries (so with three renames per entry); `pip install
--force-reinstall`; and `uv pip install --reinstall` with hard links and with copies. A process reads the state of PIL
in a tight loop: `__init__.py`, `_version.py`, two extension modules and the metadata. They should all be old or all be
new.

The window is the time from the last completely old state to the first completely new one. It includes the time of the
reads, which the kernel blocks while a rename waits for a busy disk. The time between the first and the last mixed state
is therefore given too. Meanwhile, new processes import PIL one after another, and failures are counted. Prints a table
in Markdown. Set TMPDIR to choose the disk.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

STOCK = "pillow==12.1.1"
TOOL = (sys.executable, "-m", "fastinstall")
WITHOUT_EXCHANGE = (
    "import sys; from fastinstall.core import files; files.exchange = lambda one, other: False; "
    "from fastinstall.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
LOOKER = """
import json, os, signal, sys, time
site = sys.argv[1]
going = [True]
signal.signal(signal.SIGTERM, lambda *_: going.clear())
files = [site + "/PIL/" + name for name in ("__init__.py", *sys.argv[2].split())]
version, now = site + "/PIL/_version.py", time.perf_counter
def size(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return None
def look():
    try:
        with open(version, "rb", buffering=0) as stream:
            said = stream.read().decode()
    except OSError:
        said = None
    names = [name for name in os.listdir(site) if name.lower().startswith("pillow-") and name.endswith(".dist-info")]
    return [said, *map(size, files), *(n for n in sorted(names) if size(site + "/" + n + "/RECORD"))]
changes, looks, last = [], 0, None
while going:
    start = now()
    found = look()
    end = now()
    looks += 1
    if found != last:
        if changes:
            changes[-1][1] = before
        changes.append([start, end, 0, found])
        last = found
    changes[-1][2] += 1
    before = start
changes[-1][1] = before
print(json.dumps([looks, changes]))
"""
IMPORTER = "import PIL; from PIL import Image, _imaging; assert PIL.__version__ == _imaging.PILLOW_VERSION"


@dataclass(kw_only=True)
class Seen:
    """Measurements of the replacements of one kind.

    Attributes:
        windows: the window of each replacement, in milliseconds.
        torn_ms: the time between the first and the last mixed state, in milliseconds, for each replacement.
        torn: number of reads that found a mixed state.
        imports: number of imports tried in new processes.
        failed: number of failed imports.
        looks: mean time of a read in microseconds, for each replacement.
    """

    windows: list[float] = field(default_factory=list)
    torn_ms: list[float] = field(default_factory=list)
    torn: int = 0
    imports: int = 0
    failed: int = 0
    looks: list[float] = field(default_factory=list)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="fastinstall-window-") as name:
        scratch = Path(name)
        prefix, stock = environment(scratch)
        run((*TOOL, "build", "--prefix", prefix, "-o", scratch / "ours"))
        kinds = ways(prefix, next((scratch / "ours").glob("*.whl")))
        seen = {kind: Seen() for kind in kinds}
        for _ in range(runs):
            for kind, (replace, put_back) in kinds.items():
                measure(prefix, replace, seen[kind])
                put_back()
                again = (prefix / "bin/python", "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", stock)
                run(again)
        report(seen)


def ways(prefix: Path, ours: Path) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return for each kind a function that replaces stock Pillow, and one to call before pip installs stock again."""
    setup = ("setup", "--yes", "--prefix", prefix)
    python = prefix / "bin/python"
    pip = (python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", ours)
    uv = (shutil.which("uv") or Path(sys.executable).with_name("uv"), "pip", "install", "-q", "--python", python)

    def back() -> None:
        run((*TOOL, "rollback", "--yes", "--prefix", prefix))

    def nothing() -> None:
        """Leave the build in place: pip reinstalls stock Pillow over it."""

    def with_links(mode: str) -> Callable[[], object]:
        return lambda: run((*uv, "--reinstall", "--no-deps", "--link-mode", mode, ours))

    return {
        "fastinstall setup": (lambda: run((*TOOL, *setup)), back),
        "fastinstall setup, three renames": (lambda: run((sys.executable, "-c", WITHOUT_EXCHANGE, *setup)), back),
        "pip install --force-reinstall": (lambda: run(pip), nothing),
        "uv pip install --reinstall, hard links": (with_links("hardlink"), nothing),
        "uv pip install --reinstall, copies": (with_links("copy"), nothing),
    }


def measure(prefix: Path, replace: Callable[[], object], seen: Seen) -> None:
    """Run one replacement while other processes read and import PIL, and record the measurements."""
    site = next(prefix.glob("lib/python3*/site-packages"))
    modules = " ".join(sorted(path.name for path in (site / "PIL").glob("_imaging*.so"))[:2])
    argv = (sys.executable, "-I", "-S", "-c", LOOKER, site, modules)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as looker:
        with importing(prefix, seen):
            replace()
        looker.send_signal(signal.SIGTERM)
        looks, changes = json.loads(looker.communicate()[0])
    first, last = changes[0], changes[-1]
    between = [change for change in changes if change[3] not in (first[3], last[3])]
    finals = [change for change in changes if change[3] == last[3]]
    seen.windows.append((finals[0][0] - first[1]) * 1000)
    seen.torn_ms.append((between[-1][1] - between[0][0]) * 1000 if between else 0.0)
    seen.torn += sum(change[2] for change in between)
    seen.looks.append((last[1] - first[0]) / looks * 1e6)


@contextmanager
def importing(prefix: Path, seen: Seen) -> Iterator[None]:
    """Import PIL in new processes, one after another, while the block runs; count the imports and the failures."""
    going = threading.Event()
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def work() -> None:
        while not going.is_set():
            done = subprocess.run(
                (prefix / "bin/python", "-c", IMPORTER), env=variables, capture_output=True, check=False
            )
            seen.imports += 1
            seen.failed += done.returncode != 0

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        going.set()
        thread.join()


def environment(scratch: Path) -> tuple[Path, Path]:
    """Create a virtual environment with stock Pillow; return the paths of the environment and of Pillow's wheel."""
    prefix, stock = scratch / "env", scratch / "stock"
    run((sys.executable, "-m", "venv", prefix))
    pip = (prefix / "bin/python", "-m", "pip")
    run((*pip, "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", stock, STOCK))
    wheel = next(stock.glob("*.whl"))
    run((*pip, "install", "-q", "--no-deps", wheel))
    return prefix, wheel


def run(argv: Sequence[str | Path]) -> None:
    """Run a command; if it fails, end the benchmark with its output."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{argv}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def report(seen: dict[str, Seen]) -> None:
    """Print the table."""
    heads = ("window, median ms", "min", "max", "torn, median ms", "max", "torn looks", "failed imports")
    print(f"| stock Pillow replaced with | {' | '.join(heads)} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for kind, each in seen.items():
        windows = (statistics.median(each.windows), min(each.windows), max(each.windows))
        torn = (statistics.median(each.torn_ms), max(each.torn_ms))
        figures = " | ".join(f"{value:.2f}" for value in (*windows, *torn))
        print(f"| {kind} | {figures} | {each.torn} | {each.failed} of {each.imports} |")
    looks = statistics.median(look for each in seen.values() for look in each.looks)
    print(f"\nA look took {looks:.0f} us.")


if __name__ == "__main__":
    main()
