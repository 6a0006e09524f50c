"""Measure the time to observe a conda environment from its files.

    python benchmarks/conda_observation.py [--records N] [--rounds N]

Creates an environment below a temporary directory. Its package records are written as by conda, mamba and py-rattler,
which order the keys differently. Most packages have 50 to 500 files, Python has 4,000, and one package in fifty has
10,000. Only the files of PIL, libjpeg and libtiff exist. Prints for each writer the minimum and the median time to
observe the environment in a new process, with the time of the imports separately, and the time to parse the records as
JSON.
"""

import argparse
import hashlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PYTHON = "lib/python3.11"
SITE = f"{PYTHON}/site-packages"
Record = dict[str, Any]

OBSERVE = """
import sys, time
start = time.perf_counter()
from pathlib import Path
from fastinstall.model.facts import Interpreter
loaded = time.perf_counter()
from fastinstall.observe.conda.prefix import observe_conda
imported = time.perf_counter()
prefix = Path(sys.argv[1])
text = dict.fromkeys(("implementation", "version", "abi", "platform", "libc", "libc_version", "extension_suffix"), "")
paths = dict.fromkeys(("executable", "prefix", "base_prefix", "include"), prefix)
site = prefix / sys.argv[2]
interpreter = Interpreter(**text, **paths, site_packages=site, free_threaded=False, has_headers=False)
begun = time.perf_counter()
found = observe_conda(prefix, interpreter, ("pillow",), {"HOME": sys.argv[1]}, thorough=sys.argv[3] == "thorough")
done = time.perf_counter()
assert len(found.packages) == int(sys.argv[4]) and len(found.claims) == 3 and not found.unreadable, found.unreadable
assert not any(claim.missing or claim.altered for claim in found.claims), found.claims
print(1000 * (imported - loaded), 1000 * (done - begun))
"""

PARSE = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
for path in Path(sys.argv[1], "conda-meta").glob("*.json"):
    json.loads(path.read_bytes())
print(0, 1000 * (time.perf_counter() - start))
"""


def main() -> None:
    """Measure with the records of every writer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fastinstall-conda-") as name:
        for writer, write in WRITERS.items():
            prefix = Path(name, writer.replace(" ", "-"))
            megabytes = make(prefix, arguments.records, write)
            print(f"{writer}: {arguments.records} records, {megabytes:.1f} MB")
            for kind in ("thorough", "quick"):
                words = (OBSERVE, str(prefix), SITE, kind, str(arguments.records))
                show(f"  observed, {kind}", [measured(*words) for _ in range(arguments.rounds)])
            show("  parsed as JSON", [measured(PARSE, str(prefix)) for _ in range(min(arguments.rounds, 3))])


def measured(program: str, *words: str) -> tuple[float, float]:
    """Run a program, and return its milliseconds for imports and for work."""
    argv = (sys.executable, "-c", program, *words)
    imports, work = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    return float(imports), float(work)


def show(name: str, taken: Sequence[tuple[float, float]]) -> None:
    """Print a line of results."""
    work = sorted(each for _, each in taken)
    imports = min(each for each, _ in taken)
    print(f"{name:<24} {work[0]:7.1f} ms at least, median {statistics.median(work):.1f}, imports {imports:.1f}")


def make(prefix: Path, records: int, write: Callable[[Record], str]) -> float:
    """Create the environment; return the size of its records in megabytes."""
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta/history").write_text("".join(revisions()))
    chance = random.Random(5)  # noqa: S311 (the same environment each time)
    for record in (*real_packages(prefix), *(package(number, chance) for number in range(records - 3))):
        dist = f"{record['name']}-{record['version']}-{record['build']}"
        (prefix / f"conda-meta/{dist}.json").write_text(write(record))
    return sum(path.stat().st_size for path in prefix.glob("conda-meta/*.json")) / 1e6


def package(number: int, chance: random.Random) -> Record:
    """Return the record of an invented package; number 0 is Python."""
    if number == 0:
        return described("python", [(f"{PYTHON}/module{part}.py", digest(part), part) for part in range(4000)])
    count = 10_000 if number % 50 == 0 else chance.randint(50, 500)
    name = f"package-{number}"
    places = (f"{SITE}/{name}/part_{part // 40}/module_{part}.py" for part in range(count))
    return described(name, [(place, digest(part), part) for part, place in enumerate(places)])


def real_packages(prefix: Path) -> tuple[Record, ...]:
    """Return the records of Pillow, libjpeg-turbo and libtiff, and write their files."""
    pillow = [f"{SITE}/PIL/Plugin{number}.py" for number in range(200)]
    cores = [f"{SITE}/PIL/_imaging{number}.cpython-311-x86_64-linux-gnu.so" for number in range(8)]
    pillow_files = [*written(prefix, pillow, 12_000), *written(prefix, cores, 700_000)]
    jpeg = written(
        prefix, ["include/jpeglib.h", "include/jconfig.h", "lib/libjpeg.so.62", "lib/libturbojpeg.so"], 400_000
    )
    tiff = written(prefix, ["include/tiffio.h", "lib/libtiff.so.6"], 600_000)
    return described("pillow", pillow_files), described("libjpeg-turbo", jpeg), described("libtiff", tiff)


def written(prefix: Path, places: Sequence[str], size: int) -> list[tuple[str, str, int]]:
    """Write files of a given size; return path, SHA-256 and size of each."""
    found = []
    for place in places:
        content = (place.encode() * (size // len(place) + 1))[:size]
        (prefix / place).parent.mkdir(parents=True, exist_ok=True)
        (prefix / place).write_bytes(content)
        found.append((place, hashlib.sha256(content).hexdigest(), size))
    return found


def described(name: str, files: Sequence[tuple[str, str, int]]) -> Record:
    """Return a record, with its keys in the order of py-rattler."""
    dist = f"{name}-1.2.3-py311h1234567_0"
    url = "https://conda.example/conda-forge/linux-64"
    paths = [
        {"_path": path, "path_type": "hardlink", "sha256": sha, "sha256_in_prefix": sha, "size_in_bytes": size}
        for path, sha, size in files
    ]
    return {
        "build": "py311h1234567_0",
        "build_number": 0,
        "depends": [f"package-{number} >=1.{number},<2.0a0" for number in range(8)],
        "constrains": [],
        "license": "BSD-3-Clause",
        "md5": digest(0)[:32],
        "name": name,
        "sha256": digest(1),
        "size": 123_456,
        "subdir": "linux-64",
        "timestamp": 1_700_000_000_000,
        "version": "1.2.3",
        "fn": f"{dist}.conda",
        "url": f"{url}/{dist}.conda",
        "channel": url,
        "extracted_package_dir": f"/opt/conda/pkgs/{dist}",
        "files": [path for path, _, _ in files],
        "paths_data": {"paths_version": 1, "paths": paths},
        "link": {"source": f"/opt/conda/pkgs/{dist}", "type": 1},
    }


def digest(number: int) -> str:
    """Return the SHA-256 of a number's text, as an example of a hash."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def revisions() -> list[str]:
    """Return the lines of a conda history with fifty revisions."""
    return [
        f"==> 2026-01-{1 + number % 28:02} 12:00:00 <==\n# cmd: /opt/conda/bin/conda install package-{number}\n"
        + "".join(f"+conda-forge/linux-64::package-{part}-1.{number}-0\n" for part in range(20))
        for number in range(50)
    ]


WRITERS: dict[str, Callable[[Record], str]] = {
    "conda, sorted": lambda record: json.dumps(record, indent=2, sort_keys=True),
    "py-rattler": lambda record: json.dumps(record, indent=2),
    "mamba": lambda record: json.dumps(record, indent=4, sort_keys=True),
}


if __name__ == "__main__":
    main()
