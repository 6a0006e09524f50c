"""What the conda engines cost, beside conda itself: the same two packages shown and linked, interleaved.

    python benchmarks/conda_engines.py [--runs N] [--conda EXE] [--wheel FILE]

Makes an environment below a temporary directory, and the stack (of a wheel of ours) and its guard as conda packages.
conda itself shows what would happen (`install --dry-run`) and installs it; the engines preview it, and link it beside
the environment. Prints minimum and median of each, and the ratio of the minima to conda's.
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
from fastinstall.conda.engines.means import CondaTools
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
    """The environment, the packages, and what is done with them."""

    def __init__(self, root: Path, conda: Path, wheel: Path) -> None:
        self.root = root
        self.prefix = root / "env"
        (root / "condarc").write_text(SETTINGS.format(root=root))
        self.variables = {**os.environ, "CONDARC": str(root / "condarc"), "HOME": str(root)}
        self.variables.pop("PYTHONDONTWRITEBYTECODE", None)
        self.conda = str(conda)
        means = CondaTools(variables=self.variables, cache=root / "cache")
        tool = CondaTool(command=(self.conda,), version="", root=conda.parents[1], solver="classic", found_by="")
        self.engines = {each: open_engine(each, tool, means) for each in (CondaInstaller.CONDA, CondaInstaller.RATTLER)}
        channel = root / "channel"
        others(channel)
        self.ours = packages(root / "ours", wheel)
        open_rattler(means).create(self.prefix, ["python", "pillow"], [channel.as_uri()], offline=True)

    def measured(self, runs: int) -> dict[str, list[float]]:
        """Seconds of every run of each."""
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
                if turn:  # the first one fills caches
                    times[name].append(time.perf_counter() - started)
        return times

    def reset(self) -> None:
        """Copies to work on."""
        for name in ("live", "scratch"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        shutil.copytree(self.prefix, self.root / "live", symlinks=True)
        (self.root / "scratch").mkdir()

    def shown(self) -> None:
        """Have conda tell what it would do."""
        self.install("--dry-run")

    def installed(self) -> None:
        """Have conda do it."""
        self.install()

    def install(self, *words: str) -> None:
        """Run conda as a person would."""
        specs = [f"{each.name}={each.version}={each.build}" for each in self.ours]
        channel = ("--override-channels", "-c", self.ours[0].channel)
        place = ("-p", str(self.root / "live"), "--offline", "--freeze-installed")
        argv = (self.conda, "install", "-y", "-q", "--json", *place, *channel, *words, *specs)
        subprocess.run(argv, env=self.variables, check=True, capture_output=True)

    def previewed(self, engine: CondaEngine) -> None:
        """Have an engine show it."""
        assert len(engine.preview(CondaRequest(prefix=self.root / "live", ours=self.ours)).linked) == len(self.ours)  # noqa: S101 (else nothing was measured)

    def linked(self, engine: CondaEngine) -> None:
        """Have an engine link it."""
        engine.link(self.ours, self.root / "scratch", prefix=self.prefix)


def others(channel: Path) -> None:
    """A Python and a Pillow to be replaced, which are names alone."""
    for name, version in (("python", "{}.{}.0".format(*sys.version_info)), ("pillow", "12.0.0"), ("pip", "26.0")):
        conda_packages.CondaPackage(name=name, version=version, build="h0_0").write(channel)
    conda_packages.index_channel(channel)


def packages(channel: Path, wheel: Path) -> tuple[CondaPackage, CondaPackage]:
    """The stack and its guard."""
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
    """Write a package, and say where it is."""
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
    """One line each, and the sums."""
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
