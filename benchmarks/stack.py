"""Compare builds of Pillow, and other libraries (`peers.py`), in operations of image pipelines (`rows.py`).

    python benchmarks/stack.py stock=ENV/bin/python [before=PYTHON] ... ours=PYTHON [--peers PYTHON] [--rows REGEX]
        [--sizes 500x375,1920x1080,4000x3000] [--rounds N] [--photo FILE] [--threads N] [--json FILE]

Each environment needs Pillow and numpy, and all builds need the same Python. The first build is the official wheel: all
others must produce the same pixels, and identical files except for PNG. The last build, or the one that `--ours` names,
is compared with the others and with the goals of `rows.py`. For a build NAME@EXTENSIONS=PYTHON, the kernels may use
only these optional CPU extensions: "avx512", "avx512vnni", "avxvnni" or "none". Such a build needs the kernels' test
switches: use a copy of the recipes (FASTINSTALL_RECIPES) whose base_cflags have "-DFI_TEST_SWITCHES". `--peers` names
an environment with Pillow, numpy and any of the other libraries.

The result is a Markdown table with the CPU time in ms on one CPU, the minimum of all rounds. With `--threads N`, N
threads do the same at once on N CPUs, and the figure is the elapsed time divided by the number of calls. The sign after
a peer shows how its pixels compare with Pillow's: = equal, ±n differ by at most n, ≠ differ more, ~ differ as
documented, ? not compared.
"""

import argparse
import datetime as dt
import gc
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SIZES = "500x375,1920x1080,4000x3000"
LIBRARIES = ("opencv", "simplejpeg", "kornia", "cykooz", "pyvips", "imagecodecs", "fpng")
SLOW = 0.2
"""A call that takes longer than this, in seconds, is not repeated in the same round."""
BATCH_NS = 100_000
"""Calls are repeated for about this long, in ns, between two readings of the clock."""
LONGEST = 10.0
"""If a row at one size takes longer than this, in seconds, `FEWEST_ROUNDS` rounds are enough."""
TEN, HUNDRED = 10, 100
FEWEST_ROUNDS = 2
STEPS_NAMED = 2
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (only the parent of a temporary directory)
VARIABLES = {
    "VIPS_CONCURRENCY": "1",
    "RAYON_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "FASTINSTALL_GUARD": "0",
}
"""Environment of the workers: one thread per library, and the same hash seed."""
NONE = "–"  # noqa: RUF001 (an en dash, for empty cells)
Size = tuple[int, int]


@dataclass(slots=True)
class Cell:
    """The results of a row at one size in one column.

    Attributes:
        rounds: milliseconds per call, for each round.
        pixels: the sign for the comparison with the first build's pixels.
        bytes: the size of the encoded file; None if the row makes no file.
    """

    rounds: list[float] = field(default_factory=list)
    pixels: str = ""
    bytes: int | None = None

    @property
    def ms(self) -> float:
        return min(self.rounds, default=math.inf)


Cells = dict[tuple[str, Size], dict[str, Cell]]


def main() -> int:
    """Measure, and print a table.

    Returns:
        1 if a build's pixels differ from the first build's, else 0.
    """
    arguments = read_arguments()
    sizes = [parse_size(each) for each in arguments.sizes.split(",")]
    builds = dict(each.split("=", 1) for each in arguments.builds)
    ours = arguments.ours or next(reversed(builds))
    with ExitStack() as stack:
        shared = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        space = stack.enter_context(tempfile.TemporaryDirectory(dir=shared))
        columns = {name: (python, "pillow") for name, python in builds.items()}
        columns |= {library: (arguments.peers, library) for library in LIBRARIES if arguments.peers}
        workers = {
            name: stack.enter_context(closing(Worker(name, python, library, space, arguments)))
            for name, (python, library) in columns.items()
        }
        refuse_other_pythons([workers[name] for name in builds])
        listed = workers[next(iter(builds))].ask({"list": True})
        rows = [row for row in listed["rows"] if re.search(arguments.rows, row)]
        cells: Cells = {}
        for size in sizes:
            for row in rows:
                cells[row, size] = measure_row(row, size, workers, arguments.rounds)
                (Path(space) / "result.npy").unlink(missing_ok=True)
                print(f"{row} {size[0]}x{size[1]}", file=sys.stderr)
    report = Report(rows=rows, sizes=sizes, builds=list(builds), ours=ours, goals=listed["goals"], cells=cells)
    print("\n".join(report.lines()))
    print(f"\n{describe_machine()}; {arguments.rounds} rounds; {', '.join(w.version for w in workers.values())}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report.values(), indent=1), encoding="utf-8")
    return int(bool(report.different))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="NAME[@EXTENSIONS]=PYTHON")
    parser.add_argument("--ours", help="the build that is compared; the last one")
    parser.add_argument("--peers", help="Python of an environment with other libraries")
    parser.add_argument("--rows", default="", metavar="REGEX", help="rows whose name it is found in")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.03, help="for each row, column and round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--photo", type=Path, help="a picture; without it, a generated one")
    parser.add_argument("--json", type=Path, help="where all figures go")
    return parser.parse_args()


def parse_size(text: str) -> Size:
    width, height = text.split("x")
    return int(width), int(height)


class Worker:
    """A process with one build or library, which measures a row on request."""

    def __init__(self, name: str, python: str, library: str, space: str, arguments: argparse.Namespace) -> None:
        extensions = name.partition("@")[2]
        variables = os.environ | VARIABLES | ({"FI_EXTENSIONS": extensions} if extensions else {})
        options = {"space": space, "photo": str(arguments.photo or ""), "seconds": arguments.seconds}
        settings = json.dumps(options | {"threads": arguments.threads})
        argv = [python, "-B", __file__, "--work", library, settings]
        pipe = subprocess.PIPE
        self._name = name
        self._process = subprocess.Popen(argv, env=variables, stdin=pipe, stdout=pipe, text=True)
        answer = self.ask({"version": True})
        self.version, self.python = f"{name}: {answer['version']}", answer["python"]

    def close(self) -> None:
        self._process.communicate()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and return the answer.

        Raises:
            SystemExit: the process has ended.
        """
        source, target = self._process.stdout, self._process.stdin
        print(json.dumps(request), file=target, flush=True)
        answer = source.readline() if source else ""
        if not answer:
            raise SystemExit(f"{self._name} ended at {request}")
        read: dict[str, Any] = json.loads(answer)
        return read


def refuse_other_pythons(builds: list[Worker]) -> None:
    """Refuse builds in different interpreters, whose own speed can differ by a fourth.

    Raises:
        SystemExit: two builds have different interpreters; the message names both.
    """
    for build in builds[1:]:
        if build.python != builds[0].python:
            raise SystemExit(f"{build.version} on Python {build.python}, {builds[0].version} on {builds[0].python}")


def measure_row(row: str, size: Size, workers: dict[str, Worker], rounds: int) -> dict[str, Cell]:
    """Measure a row at one size in all columns, which take turns."""
    cells = {name: Cell() for name in workers}
    started = time.monotonic()
    for number in range(rounds):
        if number >= FEWEST_ROUNDS and time.monotonic() - started > LONGEST:
            break
        for name in [*cells]:
            answer = workers[name].ask({"row": row, "size": size, "check": number == 0})
            if "error" in answer:
                print(f"{name}: {row}: {answer['error']}", file=sys.stderr)
            if "ms" not in answer:
                del cells[name]
                continue
            cells[name].rounds.append(answer["ms"])
            if number == 0:
                cells[name].pixels, cells[name].bytes = answer["pixels"], answer["bytes"]
    return cells


@dataclass(kw_only=True)
class Report:
    """The results, which can be printed in Markdown or returned for JSON."""

    rows: list[str]
    sizes: list[Size]
    builds: list[str]
    ours: str
    goals: dict[str, tuple[float, str, int | None]]
    cells: Cells

    @property
    def different(self) -> list[str]:
        """The row, size and build of each result whose pixels differ from the first build's."""
        return [
            f"{row} {size[0]}x{size[1]} {name}"
            for (row, size), cells in self.cells.items()
            for name in self.builds[1:]
            if name not in cells or cells[name].pixels != "="
        ]

    def ratio(self, row: str, size: Size, column: str) -> float | None:
        """Return how many times as fast our build is as the one in `column`; None if either lacks the row."""
        cells = self.cells[row, size]
        return cells[column].ms / cells[self.ours].ms if column in cells and self.ours in cells else None

    def lines(self) -> Iterator[str]:
        others = [name for name in self.builds if name != self.ours]
        head = ["ms: " + " / ".join(self.builds) + "; best peer", *(f"{w}x{h}" for w, h in self.sizes)]
        head += [*(f"{self.ours} to {name}" for name in others), "to the best peer with the same pixels", "goal"]
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        for row in self.rows:
            fields = [row, *(self.times(row, size) for size in self.sizes)]
            fields += [" ".join(shorten(self.ratio(row, size, name)) for size in self.sizes) for name in others]
            fields += [" ".join(shorten(self.ratio_to_equal(row, size)) for size in self.sizes), self.verdict(row)]
            yield f"| {' | '.join(fields)} |"
        yield ""
        for name in others:
            logs = [math.log(ratio) for key in self.cells if (ratio := self.ratio(*key, name))]
            mean = math.exp(sum(logs) / len(logs)) if logs else math.nan
            yield f"{self.ours} to {name}: geometric mean of {len(logs)}: {mean:.2f}"
        verdicts = {row: self.verdict(row) for row in self.rows}
        missed = [f"{row} ({verdict})" for row, verdict in verdicts.items() if "missed" in verdict]
        yield f"goals met: {sum(each.endswith(': met') for each in verdicts.values())}, missed: {len(missed)}"
        yield from (f"- {each}" for each in missed)
        yield f"pixels that differ: {'; '.join(self.different) or 'none'}"

    def times(self, row: str, size: Size) -> str:
        """Return the milliseconds of each build and of the fastest peer, as text."""
        cells = self.cells[row, size]
        text = " / ".join(milliseconds(cells[name].ms) if name in cells else NONE for name in self.builds)
        peers = [name for name in cells if name not in self.builds]
        if not peers:
            return text
        best = min(peers, key=lambda name: cells[name].ms)
        return f"{text}; {milliseconds(cells[best].ms)} {best}{cells[best].pixels}"

    def ratio_to_equal(self, row: str, size: Size) -> float | None:
        """Return how many times as fast our build is as the fastest peer with equal pixels; None if there is none."""
        cells = self.cells[row, size]
        ratios = [
            self.ratio(row, size, name) for name in cells if name not in self.builds and cells[name].pixels == "="
        ]
        return min((ratio for ratio in ratios if ratio), default=None)

    def verdict(self, row: str) -> str:
        """Return as text whether a row meets its own goal, if any; add the general goal if the row misses it."""
        own = [self.judge(row, *self.goals[row])] if row in self.goals else []
        least = self.judge(row, *self.goals[""])
        return "; ".join(filter(None, [*own, least if "missed" in least else ""]))

    def judge(self, row: str, least: float, column: str, width: int | None) -> str:
        sizes = [size for size in self.sizes if width in (None, size[0])]
        ratios = {size: ratio for size in sizes if (ratio := self.ratio(row, size, column)) is not None}
        low = [f"{ratio:.2f} at {size[0]}x{size[1]}" for size, ratio in ratios.items() if ratio < least]
        goal = f"≥ {least:g} of {column}"
        return f"{goal}: missed, {', '.join(low)}" if low else f"{goal}: met" if ratios else ""

    def values(self) -> list[dict[str, Any]]:
        return [
            {"row": row, "size": size, "column": name, "ms": cell.rounds, "pixels": cell.pixels, "bytes": cell.bytes}
            for (row, size), cells in self.cells.items()
            for name, cell in cells.items()
        ]


def shorten(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}" if ratio < TEN else f"{ratio:.0f}"


def milliseconds(value: float) -> str:
    return f"{value:.0f}" if value >= HUNDRED else f"{value:.3g}"


def describe_machine() -> str:
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    load = os.getloadavg()[0]
    return f"{names[0] if names else 'unknown CPU'}; {dt.datetime.now(dt.UTC).date()}; load {load:.1f} at the end"


def work(library: str, settings: dict[str, Any]) -> None:
    """Answer requests on stdin; this runs in the Python of a build or of the peers."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print goes to stderr, not among the answers
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-settings["threads"] :])
    # This block is freed at once. From then on glibc keeps freed memory, as in a program that has run for long.
    bytes(31 << 20)
    bench = Bench(library, settings)
    gc.disable()
    for line in sys.stdin:
        print(json.dumps(bench.answer(json.loads(line))), file=answers, flush=True)


class Bench:
    """The rows of one library, prepared for the last requested size."""

    def __init__(self, library: str, settings: dict[str, Any]) -> None:
        import peers
        import rows

        self._rows = rows
        self._list_calls = rows.list_calls if library == "pillow" else peers.PEERS[library]
        self._library, self._settings = library, settings
        self._size: Size | None = None
        self._calls: dict[str, Callable[[], object]] = {}
        self._tiny = rows.saved(rows.Pictures(Path(settings["space"]), (16, 16), None).rgb, "JPEG")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request: version, rows, milliseconds or error; empty if the library lacks the row."""
        if "version" in request:
            return {"version": self.version(), "python": f"{sys.version.split()[0]} of {sys.base_prefix}"}
        if "list" in request:
            return self.list_rows()
        try:
            self.prepare(tuple(request["size"]))
            call = self._calls.get(request["row"])
            return self.measure(call, check=request["check"]) if call else {}
        except Exception as error:  # noqa: BLE001 (one row's failure is an answer)
            return {"error": f"{type(error).__name__}: {error}"}

    def version(self) -> str:
        if self._library == "pillow":
            from PIL import Image

            return str(Image.__version__)
        from importlib import metadata

        names = {"opencv": "opencv-python-headless", "kornia": "kornia-rs", "cykooz": "cykooz.resizer"}
        try:
            return metadata.version(names.get(self._library, self._library))
        except metadata.PackageNotFoundError:
            return "absent"

    def list_rows(self) -> dict[str, Any]:
        """Return the names of all rows, and the goals by row; the key "" has the general goal, which every row has."""
        self.prepare((32, 24))
        goals = self._rows.GOALS | {"": self._rows.LEAST}
        return {"rows": [*self._calls], "goals": {name: (g.at_least, g.column, g.width) for name, g in goals.items()}}

    def prepare(self, size: Size) -> None:
        if size == self._size:
            return
        photo = self._settings["photo"]
        pictures = self._rows.Pictures(Path(self._settings["space"]), size, Path(photo) if photo else None)
        self._size, self._calls = size, {}
        with suppress(ImportError):
            self._calls = self._list_calls(pictures)

    def measure(self, call: Callable[[], object], *, check: bool) -> dict[str, Any]:
        """Measure a call, and compare its result if `check` is true.

        A tiny JPEG is decoded first. Saving an AVIF leaves the upper halves of vector registers in use, and SSE code
        then takes up to three times as long until libjpeg-turbo clears them (findings/avif-slows-what-follows.sh).
        """
        self._rows.loaded(self._tiny)
        started = time.process_time_ns()
        result = call()
        spent = float(time.process_time_ns() - started)
        answer = self.compare(result) if check else {}
        del result
        if self._settings["threads"] > 1:
            return answer | {"ms": measure_together(call, self._settings["threads"], self._settings["seconds"])}
        if spent < SLOW * 1e9:
            spent = measure(call, self._settings["seconds"], repeat=1 + int(BATCH_NS / max(spent, 1)))
        return answer | {"ms": spent / 1e6}

    def compare(self, result: object) -> dict[str, Any]:
        """Save the first build's result; compare the other columns' results with it."""
        import numpy as np

        array = as_array(result)
        size = len(result) if isinstance(result, bytes) else None
        file = Path(self._settings["space"]) / "result.npy"
        if not file.exists():
            np.save(file, array)
            return {"pixels": "=", "bytes": size}
        if self._library == "pillow":
            kept = np.load(file)
            is_equal = kept.shape == array.shape and kept.dtype == array.dtype and bool((kept == array).all())
            return {"pixels": "=" if is_equal else "≠", "bytes": size}
        if self._library == "cykooz":
            return {"pixels": "~", "bytes": None}
        return {"pixels": "?" if size else name_difference(np.load(file), array), "bytes": size}


def as_array(result: Any) -> Any:  # noqa: ANN401 (of any library)
    """Return a result as an array: pixels of a picture or PNG file; bytes of any other file, or of numbers as text."""
    import numpy as np
    from PIL import Image

    if isinstance(result, np.ndarray):
        return result
    if isinstance(result, Image.Image):
        return np.asarray(result.convert("RGB") if result.mode == "P" else result)
    if isinstance(result, tuple | list) and all(isinstance(band, np.ndarray | Image.Image) for band in result):
        return np.dstack([np.asarray(band) for band in result])
    if isinstance(result, bytes) and result.startswith(b"\x89PNG"):
        return np.asarray(Image.open(io.BytesIO(result)))
    return np.frombuffer(result if isinstance(result, bytes) else repr(result).encode(), "u1")


def name_difference(expected: Any, array: Any) -> str:  # noqa: ANN401 (numpy has no types here)
    """Return the sign for how a peer's pixels differ from the expected ones."""
    if expected.ndim == 1 or array.ndim == 1 or expected.dtype != "u1":
        return "?"
    if expected.size != array.size or expected.dtype != array.dtype:
        return "≠"
    steps = int(abs(expected.astype("i2").ravel() - array.astype("i2").ravel()).max())
    return "=" if not steps else f"±{steps}" if steps <= STEPS_NAMED else "≠"


def measure(call: Callable[[], object], seconds: float, repeat: int) -> float:
    """Return the minimum CPU time of a call in ns, ignoring times of 0: a virtual machine's clock may stand still."""
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or best is math.inf:
        started = time.process_time_ns()
        for _ in range(repeat):
            call()
        spent = time.process_time_ns() - started
        if spent > 0:
            best = min(best, spent / repeat)
    return best


def measure_together(call: Callable[[], object], threads: int, seconds: float) -> float:
    """Return the elapsed time of several threads divided by the number of their calls, in ms."""
    counts = []

    def repeat() -> None:
        count, until = 0, time.perf_counter() + 4 * seconds
        while not count or time.perf_counter() < until:
            call()
            count += 1
        counts.append(count)

    together = [threading.Thread(target=repeat) for _ in range(threads)]
    started = time.perf_counter()
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    return (time.perf_counter() - started) * 1000 / sum(counts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], json.loads(sys.argv[3]))
    else:
        sys.exit(main())
