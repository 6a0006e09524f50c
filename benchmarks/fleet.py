"""Measure time and peak memory of `plan --hosts`, and how both grow with the number of hosts.

    python benchmarks/fleet.py [--hosts N,N,...] [--runs N] [--keep DIR]

Captures one real `inspect --json` of an environment with Pillow, and derives the requested number of facts files from
it. They vary as in a real fleet: processors, cores, Pythons, C libraries and paths. Some describe a CPU below the
lowest level or of another architecture; some are old or damaged. The same number of hosts always gives the same files.
Prints for each number of hosts the minimum of elapsed time and of CPU time (which depends less on other programs), and
the peak memory, with the ratios of CPU time, memory and number of hosts to those of the first fleet.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastinstall.elf.cpu import LEVELS

TOOL = (sys.executable, "-m", "fastinstall")
NUMBERS = (1_000, 3_000, 10_000, 30_000)
SEED = 9
V4 = frozenset(LEVELS["x86-64-v4"])
V3 = frozenset(LEVELS["x86-64-v3"])
V2 = frozenset(LEVELS["x86-64-v2"])
CPUS: tuple[tuple[int, str, str, frozenset[str]], ...] = (
    (30, "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "x86-64-v4", frozenset()),
    (20, "AMD EPYC 7763 64-Core Processor", "x86-64-v3", V4),
    (20, "AMD EPYC 9654 96-Core Processor", "x86-64-v4", frozenset()),
    (12, "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "x86-64-v3", V4),
    (10, "Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz", "x86-64-v3", V4),
    (6, "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", "x86-64-v2", V4 | (V3 - {"avx", "xsave"})),
    (1, "Intel(R) Core(TM)2 Duo CPU E8400 @ 3.00GHz", "x86-64-v1", V4 | V3 | V2),
)
"""Weight in percent, name, level, and the features of the captured machine that the CPU lacks."""

PYTHONS = ((35, "3.11.7"), (20, "3.12.1"), (20, "3.10.13"), (15, "3.13.0"), (7, "3.9.18"), (3, "3.8.18"))
LIBCS = ((35, "2.36"), (25, "2.39"), (20, "2.35"), (10, "2.34"), (7, "2.28"), (3, "2.31"))


def main() -> None:
    """Measure each number of hosts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default=",".join(map(str, NUMBERS)), help="numbers of hosts, separated by commas")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="leave the facts files there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fastinstall-fleet-") as name:
        measure(arguments.keep or Path(name), [int(each) for each in arguments.hosts.split(",")], arguments.runs)


def measure(scratch: Path, numbers: list[int], runs: int) -> None:
    """Measure and print a row for each number of hosts."""
    captured = capture(scratch)
    print(f"one captured document: {len(json.dumps(captured, indent=2)) / 1000:.0f} KB")
    print(f"{'hosts':>7} {'seconds':>8} {'on CPU':>7} {'ratio':>6} {'MB':>6} {'ratio':>6} {'hosts, ratio':>13}")
    first: tuple[int, float, float] | None = None
    for number in numbers:
        directory = scratch / f"hosts-{number}"
        make(directory, captured, number)
        timed = [run(directory) for _ in range(runs)]
        seconds, busy = min(each[0] for each in timed), min(each[1] for each in timed)
        memory = max(each[2] for each in timed)
        first = first or (number, busy, memory)
        ratios = f"{busy / first[1]:>6.1f} {memory:>6.0f} {memory / first[2]:>6.1f} {number / first[0]:>13.1f}"
        print(f"{number:>7,} {seconds:>8.2f} {busy:>7.2f} {ratios}", flush=True)


def capture(scratch: Path) -> dict[str, Any]:
    """Create an environment with stock Pillow, and return its facts."""
    prefix = scratch / "env"
    subprocess.run((sys.executable, "-m", "venv", prefix), check=True)
    pip = (prefix / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pillow")
    subprocess.run(pip, check=True)
    told = subprocess.run((*TOOL, "inspect", "--json", "--prefix", prefix), check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(told.stdout)
    return document


def make(directory: Path, captured: dict[str, Any], number: int) -> None:
    """Write the facts files of a fleet."""
    directory.mkdir()
    chance = random.Random(SEED)  # noqa: S311 (machines, not secrets)
    for index, document in enumerate(varied(captured, number, chance)):
        file = directory / f"host-{index:05}.example.org.json"
        text = json.dumps(document, indent=2)
        file.write_text(text[: len(text) // 2] if chance.random() < 0.002 else text)  # noqa: PLR2004 (two of a thousand)
        if chance.random() < 0.005:  # noqa: PLR2004 (five of a thousand)
            os.utime(file, (time.time() - 90 * 86400,) * 2)


def varied(captured: dict[str, Any], number: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield variants of the captured document, as other machines would have written it."""
    features = list(dict.fromkeys((*captured["cpu"]["flags"], *(flag for flags in LEVELS.values() for flag in flags))))
    for _ in range(number):
        _, name, level, lacking = chance.choices(CPUS, [each[0] for each in CPUS])[0]
        python = chance.choices(PYTHONS, [each[0] for each in PYTHONS])[0][1]
        glibc = chance.choices(LIBCS, [each[0] for each in LIBCS])[0][1]
        cpu = {**captured["cpu"], "name": name, "level": level, "cores": chance.choice((2, 4, 8, 16, 32, 64, 128))}
        cpu["flags"] = [flag for flag in features if flag not in lacking]
        if chance.random() < 0.01:  # noqa: PLR2004 (one of a hundred)
            cpu |= {"architecture": "aarch64", "level": None, "flags": ["fp", "asimd"]}
        yield {**captured, "cpu": cpu, **_python(captured, python, glibc, chance)}


def _python(captured: dict[str, Any], python: str, glibc: str, chance: random.Random) -> dict[str, Any]:
    prefix = f"/srv/{chance.choice(('app', 'train', 'serve'))}-{chance.randrange(100)}/env"
    tag = "".join(python.split(".")[:2])
    interpreter = captured["interpreter"] | {
        "version": python,
        "abi": f"cp{tag}",
        "libc_version": glibc,
        "extension_suffix": f".cpython-{tag}-x86_64-linux-gnu.so",
        "prefix": prefix,
        "executable": f"{prefix}/bin/python",
    }
    environment = captured["environment"] | {"prefix": prefix, "python": f"{prefix}/bin/python"}
    return {"interpreter": interpreter, "environment": environment}


def run(directory: Path) -> tuple[float, float, float]:
    """Run one plan; return elapsed seconds, CPU seconds, and peak memory in MB without children."""
    start = time.perf_counter()
    with subprocess.Popen((*TOOL, "plan", "--hosts", directory, "--json"), stdout=subprocess.DEVNULL) as child:
        _pid, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"plan --hosts: exit code {child.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
