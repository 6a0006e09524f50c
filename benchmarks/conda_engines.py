"""Compare how long our conda engines and conda itself take to preview and install the same two packages.

    python benchmarks/conda_engines.py [--runs N] [--conda EXE] [--wheel FILE]

Creates an environment below a temporary directory, and conda packages of the stack (from a fastinstall wheel) and its
guard. conda previews the installation (`install --dry-run`), then installs the packages. Our engines preview the
installation, then link the packages into a directory beside the environment. All operations take turns. Prints the
minimum and the median of each, and the ratio of the minimum to conda's.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.conda import packages as conda_packages

from fastinstall.conda.engines.choose import open_engine, open_rattler
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaPackage, CondaRequest, CondaTool

SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages/"
SETTINGS = "default_channels: []\nchannels: []\nsolver: classic\nregister_envs: false\npkgs_dirs: [{root}/pkgs]\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--conda", type=Path, default=os.environ.get("CONDA_EXE"), help="default: CONDA_EXE")
    parser.add_argument("--wheel", type=Path, required=True, help="a wheel that fastinstall built")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fastinstall-engines-") as name:
        bench = Bench(Path(name), Path(options.conda), options.wheel)
        report(bench.measured(options.runs))


class Bench:
    """The environment and the packages, with the operations to time."""

    def __init__(self, root: Path, conda: Path, wheel: Path) -> None:
        self.root = root
        self.prefix = root / "env"
        (root / "condarc").write_text(SETTINGS.format(root=root))
        self.variables = {**os.environ, "CONDARC": str(root / "condarc"), "HOME": str(root)}
        self.variables.pop("PYTHONDONTWRITEBYTECODE", None)
        self.conda = str(conda)
        tool = CondaTool(command=(self.conda,), version="", root=conda.parents[1], solver="classic", found_by="")
        self.engines = {
            each: open_engine(each, tool, self.variables, root / "cache")
            for each in (CondaInstaller.CONDA, CondaInstaller.RATTLER)
        }
        channel = root / "channel"
        others(channel)
        self.ours = packages(root / "ours", wheel)
        rattler = open_rattler(self.variables, root / "cache", offline=True)
        rattler.create(self.prefix, ["python", "pillow"], [channel.as_uri()])

    def measured(self, runs: int) -> dict[str, list[float]]:
        """Run the operations in turn; return the seconds of each run without the first, which fills caches."""
        works: dict[str, Callable[[], None]] = {"conda: shown": self.shown, "conda: installed": self.installed}
        for kind, engine in self.engines.items():
            works[f"{kind} engine: preview"] = lambda engine=engine: self.previewed(engine)  # type: ignore[misc]
            works[f"{kind} engine: link"] = lambda engine=engine: self.linked(engine)  # type: ignore[misc]
        times: dict[str, list[float]] = {name: [] for name in works}
        for turn in range(runs + 1):
            for name, work in works.items():
                self.reset()
                started = time.perf_counter()
                work()
                if turn:  # the first turn fills caches
                    times[name].append(time.perf_counter() - started)
        return times

    def reset(self) -> None:
        """Recreate the copy of the environment and the empty directory that the operations change."""
        for name in ("live", "scratch"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        shutil.copytree(self.prefix, self.root / "live", symlinks=True)
        (self.root / "scratch").mkdir()

    def shown(self) -> None:
        """Let conda preview the installation."""
        self.install("--dry-run")

    def installed(self) -> None:
        """Let conda install the packages."""
        self.install()

    def install(self, *words: str) -> None:
        """Run `conda install` with both packages, as a user would."""
        specs = [f"{each.name}={each.version}={each.build}" for each in self.ours]
        channel = ("--override-channels", "-c", self.ours[0].channel)
        place = ("-p", str(self.root / "live"), "--offline", "--freeze-installed")
        argv = (self.conda, "install", "-y", "-q", "--json", *place, *channel, *words, *specs)
        subprocess.run(argv, env=self.variables, check=True, capture_output=True)

    def previewed(self, engine: CondaEngine) -> None:
        """Let an engine preview the installation."""
        assert len(engine.preview(CondaRequest(prefix=self.root / "live", ours=self.ours)).linked) == len(self.ours)  # noqa: S101 (a wrong preview would be measured)

    def linked(self, engine: CondaEngine) -> None:
        """Let an engine link the packages."""
        engine.link(self.ours, self.root / "scratch", prefix=self.prefix)


def others(channel: Path) -> None:
    """Write empty packages of Python, of the Pillow to replace, and of pip, into a channel."""
    for name, version in (("python", "{}.{}.0".format(*sys.version_info)), ("pillow", "12.0.0"), ("pip", "26.0")):
        conda_packages.CondaPackage(name=name, version=version, build="h0_0").write(channel)
    conda_packages.index_channel(channel)


def packages(channel: Path, wheel: Path) -> tuple[CondaPackage, CondaPackage]:
    """Write the packages of the stack and its guard into a channel, and return them."""
    version = wheel.name.split("-")[1].partition("+")[0]
    stack = conda_packages.CondaPackage(
        name="pillow",
        version=version,
        build="simd_v2v3_0",
        depends=("python",),
        files=conda_packages.wheel_entries(wheel, SITE),
    )
    guard = conda_packages.CondaPackage(
        name="fastinstall-guard",
        version="1.0",
        build="0",
        noarch="generic",
        constrains=("pillow * simd_*",),
        files={"etc/conda/activate.d/fastinstall.sh": conda_packages.text_entry(":\n")},
    )
    made = (described(stack, channel), described(guard, channel))
    conda_packages.index_channel(channel)
    return made


def described(package: conda_packages.CondaPackage, channel: Path) -> CondaPackage:
    """Write a package into a channel, and return it with its URL."""
    return CondaPackage(
        name=package.name,
        version=package.version,
        build=package.build,
        subdir=package.subdir,
        channel=channel.as_uri(),
        url=package.write(channel).as_uri(),
        depends=package.depends,
        constrains=package.constrains,
    )


def report(times: dict[str, list[float]]) -> None:
    """Print a line for each operation, and the sum for each engine."""
    shown, installed = (min(times[f"conda: {what}"]) for what in ("shown", "installed"))
    against = {"preview": shown, "link": installed, "shown": shown, "installed": installed}
    for name, seconds in times.items():
        ratio = min(seconds) / against[name.rpartition(" ")[2]]
        print(f"{name:<26} min {min(seconds):6.2f} s   median {statistics.median(seconds):6.2f} s   {ratio:5.2f}")
    for kind in (CondaInstaller.CONDA, CondaInstaller.RATTLER):
        total = sum(min(times[f"{kind} engine: {what}"]) for what in ("preview", "link"))
        print(f"{kind} engine, both: {total:.2f} s, {total / (shown + installed):.2f} of conda's")


if __name__ == "__main__":
    main()
