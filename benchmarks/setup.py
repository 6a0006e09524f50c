"""Compare the time of `setup` with pip installing the same wheel, and with another version of fastinstall.

    python benchmarks/setup.py [--rounds N] [--cold N] [--against CHECKOUT]

Warm: the wheel is in the cache and proven. `setup --yes` in an environment with the official Pillow takes turns with
`pip install --force-reinstall` of the same wheel. Cold: the cache has only downloads. `setup --yes --new-env` of this
checkout takes turns with that of the other checkout. Prints medians of elapsed seconds, and of the rounds' ratios.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
DOWNLOADS = "fastinstall/downloads"


class Bench:
    """Temporary environments and caches below one directory, and the runs to time."""

    def __init__(self, scratch: Path) -> None:
        """Create an environment to copy, and a cache that a first setup fills."""
        self.scratch = scratch
        self._count = 0
        self.pristine = scratch / "pristine"
        venv.create(self.pristine, with_pip=True)
        _run((self._python(self.pristine), "-m", "pip", "install", "-q", "pillow"), {})
        self.cache = scratch / "cache"
        self.setup(HERE, self.cache, "--prefix", str(self.copy()))
        self.wheel = next(self.cache.glob("fastinstall/wheels/*/*.whl"))

    def setup(self, checkout: Path, cache: Path, *words: str) -> None:
        """Run `setup --yes` of a checkout with a cache."""
        variables = {"PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(cache), "XDG_STATE_HOME": str(self.scratch)}
        _run((sys.executable, "-m", "fastinstall", "setup", "--yes", *words), variables)

    def copy(self) -> Path:
        """Create an environment with the official Pillow."""
        target = self._name()
        return Path(shutil.copytree(self.pristine, target, symlinks=True))

    def warm(self, checkout: Path) -> float:
        """Return the seconds of a setup with the wheel in the cache."""
        prefix = self.copy()
        return _time(lambda: self.setup(checkout, self.cache, "--prefix", str(prefix)))

    def pip(self) -> float:
        """Return the seconds that pip takes to install the same wheel."""
        prefix = self.copy()
        words = ("-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", str(self.wheel))
        return _time(lambda: _run((self._python(prefix), *words), {}))

    def cold(self, checkout: Path) -> float:
        """Return the seconds of a setup with only downloads in the cache."""
        cache, prefix = self._name(), self._name()
        shutil.copytree(self.cache / DOWNLOADS, cache / DOWNLOADS)
        return _time(lambda: self.setup(checkout, cache, "--new-env", str(prefix), "--python", sys.executable))

    def _name(self) -> Path:
        self._count += 1
        return self.scratch / str(self._count)

    @staticmethod
    def _python(prefix: Path) -> str:
        return str(prefix / "bin/python")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="warm runs of each")
    parser.add_argument("--cold", type=int, default=0, help="cold runs of each: a minute and more")
    parser.add_argument("--against", type=Path, help="another checkout of fastinstall")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fastinstall-setup-") as scratch:
        bench = Bench(Path(scratch))
        checkouts = {"setup": HERE, **({"setup of the other": options.against.resolve()} if options.against else {})}
        for checkout in checkouts.values():
            bench.warm(checkout)  # not counted: the first run writes the checkout's bytecode
        warm: dict[str, Callable[[], float]] = {"pip install --force-reinstall": bench.pip}
        warm |= {name: partial(bench.warm, checkout) for name, checkout in checkouts.items()}
        cold: dict[str, Callable[[], float]] = {
            name: partial(bench.cold, checkout) for name, checkout in checkouts.items()
        }
        _report("warm", _take_turns(warm, options.rounds))
        if options.cold:
            _report("cold", _take_turns(dict(reversed(cold.items())), options.cold))


def _take_turns(programs: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds):
        for name in list(programs) if number % 2 else reversed(programs):
            times[name].append(programs[name]())
    return times


def _report(title: str, times: dict[str, list[float]]) -> None:
    first = next(iter(times.values()))
    for name, taken in times.items():
        ratio = statistics.median(mine / base for mine, base in zip(taken, first, strict=True))
        print(f"{title:5} {name:32} {statistics.median(taken):7.2f} s {ratio:6.2f}", flush=True)


def _time(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _run(argv: Sequence[str], variables: dict[str, str]) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**inherited, "FASTINSTALL_GUARD": "0", **variables}
    subprocess.run(argv, check=True, capture_output=True, env=environment, cwd="/")


if __name__ == "__main__":
    main()
