"""How long PIL is inconsistent while it is replaced, seen from other processes: fastinstall, pip and uv in turn.

    python benchmarks/swap_window.py [--runs N]

Stock Pillow is replaced by a build of ours in one virtual environment, and put back, by each of: `fastinstall setup`,
the same where entries cannot be exchanged in one step (three renames each), `pip install --force-reinstall`, and
`uv pip install --reinstall` with hard links and with copies. A process looks at the files of PIL in a tight loop: are
`__init__.py`, `_version.py`, two extension modules and the metadata all of before, or all of after? The window goes
from the last look that found all of before to the first that found all of after, and holds what the looks themselves
took: while a busy disk keeps a rename waiting, the kernel lets nobody look either. So the time from the first torn look
to the last is told too. Beside it fresh processes import PIL, one after the other, and fail or not. Prints a table in
Markdown; TMPDIR says on which disk.
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
    """What others saw of the replacements of one kind.

    Attributes:
        windows: milliseconds, of each.
        torn_ms: milliseconds from the first look that found neither before nor after to the last, of each.
        torn: how many of these looks there were.
        imports: that were tried in fresh processes.
        failed: of these.
        looks: microseconds that one took, of each run.
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
    """What replaces stock Pillow, and what is done before stock Pillow is installed again."""
    setup = ("setup", "--yes", "--prefix", prefix)
    python = prefix / "bin/python"
    pip = (python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", ours)
    uv = (shutil.which("uv") or Path(sys.executable).with_name("uv"), "pip", "install", "-q", "--python", python)

    def back() -> None:
        run((*TOOL, "rollback", "--yes", "--prefix", prefix))

    def nothing() -> None:
        """Pip goes on from there."""

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
    """One replacement, with others looking on."""
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
    """Fresh processes import PIL while the block runs, one after the other."""
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
    """A virtual environment with stock Pillow, and the wheel that it came from."""
    prefix, stock = scratch / "env", scratch / "stock"
    run((sys.executable, "-m", "venv", prefix))
    pip = (prefix / "bin/python", "-m", "pip")
    run((*pip, "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", stock, STOCK))
    wheel = next(stock.glob("*.whl"))
    run((*pip, "install", "-q", "--no-deps", wheel))
    return prefix, wheel


def run(argv: Sequence[str | Path]) -> None:
    """Run to the end; a failure ends the benchmark with its output."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{argv}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def report(seen: dict[str, Seen]) -> None:
    """The table."""
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
