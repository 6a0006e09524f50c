"""Whether the advice of `bench` keeps its promise: it is taken by its own printed command, and measured again.

    python benchmarks/advice.py [DIR...] [--workload NAME,...] [--rounds N] [--full] [--markdown]

For each workload (directories given, else the three that `bench` generates) an environment is made with the newest
Pillow wheel, `bench` runs on it, and what it recommends is done: the printed command, in a shell, in a directory of its
own. Then `bench` runs again. Where that can be had, one run measures both ways in turn: `--loader loader.py
--candidates pillow` for a printed loader, `--candidates official-wheel` for the fastinstall build. Elsewhere
(variables, prepared images, several things at once) runs as it was and as advised follow each other, on two
environments that were alike, and the median of their ratios counts. The promise is kept where the gain is within 15%
of it. On a machine that does other things at the same time, figures of few milliseconds mean nothing: let it be idle.

Last, a workload where nothing helps that leaves the pictures as they are: the photos of 500 pixels, with the
fastinstall build in place. `bench` has to say so, first of all. Needs what a setup of the build needs, or a cache that
has it (FASTINSTALL_CACHE_DIR).
"""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastinstall.bench.survey import WORKLOADS, generate_photos

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
WITHIN = 0.15
ANY = "pillow-draft"
"""Some candidate, where the baseline alone is of interest."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One recommendation.

    Attributes:
        workload: what is loaded.
        advice: what was advised.
        command: its printed command.
        promised: how many times as fast.
        seen: the same, measured again with the advice taken.
    """

    workload: str
    advice: str
    command: str
    promised: float
    seen: float

    @property
    def ratio(self) -> float:
        """What was seen of what was promised."""
        return self.seen / self.promised

    @property
    def verdict(self) -> str:
        """Whether the promise was kept."""
        return "yes" if abs(self.ratio - 1) <= WITHIN else "NO"


@dataclass(frozen=True, kw_only=True)
class Lab:
    """Where it happens.

    Attributes:
        place: a temporary directory.
        effort: flags of every `bench`.
        rounds: how often two ways are measured one after the other, where one run cannot measure both.
    """

    place: Path
    effort: tuple[str, ...]
    rounds: int

    @property
    def pristine(self) -> Path:
        """An environment with stock Pillow, to be copied."""
        return self.place / "pristine"

    def environment(self, name: str) -> Path:
        """Another one, like the pristine one."""
        return Path(shutil.copytree(self.pristine, self.place / name, symlinks=True))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", metavar="DIR", type=Path, nargs="*", help="images; default: generated ones")
    parser.add_argument("--workload", default=",".join(WORKLOADS), help="which photos are generated")
    parser.add_argument("--rounds", type=int, default=5, help="of runs that follow each other")
    parser.add_argument("--full", action="store_true", help="take as long as `bench` does by itself")
    parser.add_argument("--markdown", action="store_true", help="tables for the documentation")
    options = parser.parse_args()
    effort = ("--only", "loading", "--workers", "0", *(() if options.full else ("--quick",)))
    with tempfile.TemporaryDirectory(prefix="fastinstall-advice-") as scratch:
        lab = Lab(place=Path(scratch), effort=effort, rounds=options.rounds)
        make_pristine(lab)
        rows = [kept(lab, each) for each in options.directories or photos(lab, options.workload.split(","))]
        show(rows, markdown=options.markdown)
        print()
        print(left_alone(lab))


def make_pristine(lab: Lab) -> None:
    """The environment that all others are copies of."""
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", lab.pristine), check=True)
    words = ("--python", lab.pristine / "bin/python", "install", "--quiet", "--only-binary", ":all:")
    subprocess.run((*PIP, *words, "pillow", "numpy"), check=True)


def photos(lab: Lab, names: list[str]) -> list[Path]:
    """Directories with generated photos."""
    for name in names:
        (lab.place / "photos" / name).mkdir(parents=True)
        generate_photos(name, lab.place / "photos" / name, lab.pristine / "bin/python", os.environ)
    return [lab.place / "photos" / name for name in names]


def kept(lab: Lab, images: Path) -> Row:
    """What is recommended for these images, and what it brings."""
    before, advised = lab.environment(f"before-{images.name}"), lab.environment(f"advised-{images.name}")
    result = bench(lab, advised, images)
    advice = next((each for each in result["advice"] if each["recommended"]), None)
    if advice is None:
        told = "; ".join(each["finding"]["message"] for each in result["advice"])
        raise SystemExit(f"{images}: nothing is recommended: {told}")
    candidate = named(result, advice["candidate"])["candidate"]
    command, promised = advice["finding"]["remedy"]["command"], float(advice["gain"]["ratio"])
    print(f"{images.name}: {candidate['name']}, {promised:.2f} times as fast: {command}", file=sys.stderr)
    taken = Taken(lab, command, images, before=before, advised=advised)
    return Row(
        workload=images.name, advice=candidate["name"], command=command, promised=promised, seen=taken.seen(candidate)
    )


class Taken:
    """Advice that was taken by its printed command, in a directory of its own."""

    def __init__(self, lab: Lab, command: str, images: Path, *, before: Path, advised: Path) -> None:
        self.lab = lab
        self.images = images
        self.before = before
        self.advised = advised
        self.work = lab.place / f"work-{images.name}"
        self.work.mkdir()
        parts = command.split(" && ")
        self.exports = [each for each in parts if each.startswith("export ")]
        in_shell(" && ".join(each for each in parts if each not in self.exports) or "true", self.work)

    def seen(self, candidate: dict[str, Any]) -> float:
        """How many times as fast it is."""
        if candidate["kind"] == "decoder":
            return self._against("pillow", "--loader", "loader.py")
        if candidate["kind"] == "stack" and candidate["stack"] == "fastinstall":
            return self._against("official-wheel")
        return self._one_after_the_other(candidate)

    def _against(self, opponent: str, *words: str) -> float:
        """One run in which what was there before is the candidate."""
        result = self._bench(self.advised, self.images, *words, "--candidates", opponent)
        found = named(result, opponent)
        if found["gain"] is None:
            raise SystemExit(f"{opponent}: {found['outcome']}: {found['reason']}")
        return 1 / float(found["gain"]["ratio"])

    def _one_after_the_other(self, candidate: dict[str, Any]) -> float:
        """Runs as it was and as advised, in turn."""
        words = () if candidate["adapter"] == "pillow" else ("--loader", "loader.py")
        images = self.images
        if candidate["storage"] != "files":
            images = next(each for each in self.work.iterdir() if each.name.endswith(f"-{candidate['storage']}"))
        ratios = []
        for _ in range(self.lab.rounds):
            was = rate(bench(self.lab, self.before, self.images, "--candidates", ANY))
            ratios.append(rate(self._bench(self.advised, images, *words, "--candidates", ANY)) / was)
        return statistics.median(ratios)

    def _bench(self, prefix: Path, images: Path, *words: str) -> dict[str, Any]:
        command = shlex.join(bench_words(self.lab, prefix, images, *words))
        return only_workload(in_shell(" && ".join((*self.exports, command)), self.work))


def bench(lab: Lab, prefix: Path, images: Path, *words: str) -> dict[str, Any]:
    """What `bench` says of these images."""
    return only_workload(in_shell(shlex.join(bench_words(lab, prefix, images, *words)), lab.place))


def bench_words(lab: Lab, prefix: Path, images: Path, *words: str) -> tuple[str, ...]:
    """The command of a run."""
    return ("fastinstall", "bench", str(images), "--prefix", str(prefix), "--json", *lab.effort, *words)


def only_workload(answer: str) -> dict[str, Any]:
    """The one that a report is about."""
    (result,) = json.loads(answer)["workloads"]
    return dict(result)


def named(result: dict[str, Any], name: str) -> dict[str, Any]:
    """A candidate of a workload."""
    return next(each for each in result["candidates"] if each["candidate"]["name"] == name)


def rate(result: dict[str, Any]) -> float:
    """Images per second of the baseline, in one process."""
    return float(result["baseline"]["timing"]["images_per_second"])


def left_alone(lab: Lab) -> str:
    """What is said of a workload that nothing helps."""
    prefix, images = lab.environment("settled"), lab.place / "settled-photos"
    images.mkdir()
    in_shell(shlex.join(("fastinstall", "setup", "--prefix", str(prefix))), lab.place)
    generate_photos("500px", images, prefix / "bin/python", os.environ)
    result = bench(lab, prefix, images)
    lines = [f"500px, the fastinstall build in place: {result['verdict']['bound']}, {result['verdict']['sentence']}"]
    for each in result["advice"]:
        gain = f"{each['gain']['ratio']:.2f}x: " if each["gain"] else ""
        lines.append(f"- {each['finding']['status']}: {gain}{each['finding']['message']}")
    return "\n".join(lines)


def in_shell(command: str, work: Path) -> str:
    """What a command prints, with our own `fastinstall` first on the path, and plans agreed to."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "FASTINSTALL_YES": "1"}
    words = (str(shutil.which("bash")), "-c", command)
    done = subprocess.run(words, cwd=work, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}\nended with exit code {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def show(rows: list[Row], *, markdown: bool) -> None:
    """A table, for a terminal or for the documentation."""
    names = ("workload", "advice", "promised", "seen", "seen / promised", f"within {WITHIN:.0%}")
    cells = [
        (row.workload, row.advice, f"{row.promised:.2f}", f"{row.seen:.2f}", f"{row.ratio:.2f}", row.verdict)
        for row in rows
    ]
    if markdown:
        for line in (names, tuple("---" for _ in names), *cells):
            print(f"| {' | '.join(line)} |")
    else:
        widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
        for line in (names, *cells):
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    for row in rows:
        print(f"{row.workload}: {row.command}", file=sys.stderr)


if __name__ == "__main__":
    main()
