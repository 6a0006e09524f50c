"""Compare doctor with similar programs: how long each takes, and which kinds of damage it notices.

    python benchmarks/doctor.py [--rounds N] [--wheel FILE] [--environments N] [--markdown]

Creates a temporary environment with a stock Pillow wheel, runs every program on it in turn, each as a whole process,
and prints medians, and their ratios to the first program's. Then the environment is damaged in three ways, one after
another, and each program runs again. A program notices the damage if its exit code or output differs from that on the
intact environment. Finally, `doctor --all --quick` runs on many environments, and the memory of all its processes is
measured.
"""

import argparse
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOOL = (sys.executable, "-m", "fastinstall")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True, kw_only=True)
class Place:
    """The environment to examine.

    Attributes:
        prefix: prefix of the environment.
        wheel: the wheel of Pillow that is installed in it.
        variables: environment variables of every program.
    """

    prefix: Path
    wheel: Path
    variables: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.prefix / "bin/python"

    @property
    def core(self) -> Path:
        """Path of PIL's imaging core."""
        return next(self.prefix.glob("lib/python*/site-packages/PIL/_imaging.*.so"))


Program = Callable[[Place], tuple[str | Path, ...]]

PROGRAMS: dict[str, Program] = {
    "fastinstall doctor --quick": lambda place: (*TOOL, "doctor", "--quick", "--prefix", place.prefix),
    "fastinstall doctor": lambda place: (*TOOL, "doctor", "--prefix", place.prefix),
    "fastinstall doctor, nothing cached": lambda place: (*TOOL, "doctor", "--prefix", place.prefix),
    "ldd, on the core": lambda place: ("ldd", place.core),
    "lddtree, on the core": lambda place: ("lddtree", place.core),
    "auditwheel lddtree, on the core": lambda place: (sys.executable, "-m", "auditwheel", "lddtree", place.core),
    "auditwheel show, on the wheel": lambda place: (sys.executable, "-m", "auditwheel", "show", place.wheel),
    "pip check": lambda place: (*PIP, "--python", place.python, "check"),
    "pip inspect": lambda place: (*PIP, "--python", place.python, "inspect"),
    "python -c pass": lambda _place: (sys.executable, "-c", "pass"),
}
UNCACHED = "fastinstall doctor, nothing cached"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="runs of each program")
    parser.add_argument("--wheel", type=Path, help="a wheel of Pillow for this interpreter; default: the newest")
    parser.add_argument("--environments", type=int, default=100, help="how many for --all")
    parser.add_argument("--markdown", action="store_true", help="tables for the documentation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fastinstall-doctor-") as scratch:
        place = prepare(Path(scratch), options.wheel)
        programs = {name: program for name, program in PROGRAMS.items() if shutil.which(program(place)[0])}
        seconds = measured(programs, place, options.rounds)
        noticed = {name: notices(program, place) for name, program in programs.items()}
        show(rows(seconds, noticed), markdown=options.markdown)
        everywhere(place, Path(scratch), options.environments)


def prepare(scratch: Path, wheel: Path | None) -> Place:
    """Create the environment with a wheel of Pillow; download the wheel if `wheel` is None."""
    prefix, home = scratch / "env", scratch / "home"
    home.mkdir()
    # auditwheel prints sets, whose order depends on the hash seed.
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    found = wheel or download(scratch / "wheels")
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", prefix), check=True)
    place = Place(prefix=prefix, wheel=found.absolute(), variables=variables)
    install = (*PIP, "--python", place.python, "install", "--quiet", "--no-deps", place.wheel)
    subprocess.run(install, check=True)
    return place


def download(directory: Path) -> Path:
    """Download the newest wheel of Pillow for this interpreter."""
    command = (*PIP, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", directory, "pillow")
    subprocess.run(command, check=True)
    return next(directory.glob("*.whl"))


def measured(programs: Mapping[str, Program], place: Place, rounds: int) -> dict[str, list[float]]:
    """Run the programs in turn; return the seconds of each run without the first round, which fills caches."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            if name == UNCACHED:
                shutil.rmtree(Path(place.variables["HOME"]) / ".cache", ignore_errors=True)
            begun = time.perf_counter()
            run(program, place)
            if number:
                seconds[name].append(time.perf_counter() - begun)
    return seconds


def run(program: Program, place: Place) -> tuple[int, str]:
    """Run a program, and return its exit code and its output without memory addresses."""
    done = subprocess.run(
        program(place), check=False, capture_output=True, text=True, env=place.variables, cwd=place.prefix.parent
    )
    return done.returncode, ADDRESS.sub("", done.stdout + done.stderr)


@contextlib.contextmanager
def changed_core(place: Place) -> Iterator[None]:
    """Change one byte of the core's code."""
    content = place.core.read_bytes()
    middle = len(content) // 3
    with put_back(place.core, place):
        place.core.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        yield


@contextlib.contextmanager
def missing_library(place: Place) -> Iterator[None]:
    """Remove a bundled libjpeg."""
    library = next(place.core.parent.parent.glob("[Pp]illow.libs/libjpeg*"))
    with put_back(library, place):
        library.unlink()
        yield


@contextlib.contextmanager
def foreign_version(place: Place) -> Iterator[None]:
    """Change the version in the Python files, as if two versions of Pillow were installed over each other."""
    version = place.core.parent / "_version.py"
    with put_back(version, place):
        version.write_text('__version__ = "9.5.0"\n')
        yield


@contextlib.contextmanager
def put_back(file: Path, place: Place) -> Iterator[None]:
    """Restore a file when the `with` block ends."""
    kept = place.prefix.parent / "kept"
    shutil.copy2(file, kept)
    try:
        yield
    finally:
        os.replace(kept, file)


DAMAGES = {"core changed": changed_core, "libjpeg gone": missing_library, "versions mixed": foreign_version}


def notices(program: Program, place: Place) -> list[str]:
    """Return for each damage whether a program's exit code or output differs from that on the intact environment."""
    whole, answers = run(program, place), []
    if run(program, place) != whole:
        return ["?"] * len(DAMAGES)  # the program's output changes from run to run, even without damage
    for damage in DAMAGES.values():
        with damage(place):
            answers.append("sees it" if run(program, place) != whole else "-")
    return answers


def rows(seconds: Mapping[str, list[float]], noticed: Mapping[str, list[str]]) -> list[tuple[str, ...]]:
    """Return the rows of the table, the header first."""
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    first = next(iter(medians.values()))
    head = ("program", "median ms", "minimum ms", "ratio", *DAMAGES)
    return [head] + [
        (name, f"{1e3 * median:.0f}", f"{1e3 * min(seconds[name]):.0f}", f"{median / first:.2f}", *noticed[name])
        for name, median in medians.items()
    ]


def show(table: list[tuple[str, ...]], *, markdown: bool) -> None:
    """Print a table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for number, row in enumerate(table):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        print(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells))
        if markdown and not number:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def everywhere(place: Place, scratch: Path, number: int) -> None:
    """Measure one run of doctor on many environments, and print the result."""
    many = scratch / "many"
    for index in range(number):
        shutil.copytree(place.prefix, many / f"{index:03}", symlinks=True)
    for record in many.glob("*/lib/python*/site-packages/*.dist-info/RECORD"):
        record.touch()  # make RECORD the newest file, as after an installation
    variables = {**place.variables, "WORKON_HOME": str(many)}
    command = (*TOOL, "doctor", "--all", "--quick", "--quiet")
    times, largest = [], 0
    for _ in range(3):
        begun = time.perf_counter()
        with subprocess.Popen(command, env=variables, cwd=scratch, stdout=subprocess.DEVNULL) as process:
            largest = max(largest, peak(process))
        times.append(time.perf_counter() - begun)
    seconds = statistics.median(times)
    each = f"{seconds:.2f} s, {1e3 * seconds / number:.0f} ms each"
    memory = f"{largest / 1e6:.0f} MB in all its processes together"
    print(f"\ndoctor --all --quick on {number} environments: {each}, {memory}, {os.cpu_count()} cores")


def peak(process: "subprocess.Popen[bytes]") -> int:
    """Return the peak memory of a process and its children together, in bytes; shared pages count once."""
    largest = 0
    while process.poll() is None:
        largest = max(largest, sum(map(held, family(process.pid))))
        time.sleep(0.02)
    return largest


def family(parent: int) -> list[int]:
    """Return the ids of a process and its children; empty if it has ended."""
    with contextlib.suppress(OSError):
        return [parent, *map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]
    return []


def held(process: int) -> int:
    """Return the memory of a process in bytes, with its share of shared pages. Source: proc_pid_smaps(5)."""
    with contextlib.suppress(OSError):
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
        return 1024 * int(found[1]) if found else 0
    return 0


if __name__ == "__main__":
    main()
