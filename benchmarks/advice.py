"""Check the advice of `bench`: follow it with the printed command, and measure the gain with an independent loop.

    python benchmarks/advice.py [KIND...] [--photos PYTHON] [--rounds N] [--full] [--markdown]

Five kinds of folders are made from the photos of scikit-image and scikit-learn, by an interpreter that has both
(`--photos`): thumbnails of 200 pixels, photos of 12 megapixels, progressive JPEGs, PNG screenshots, and a mixture with
broken files, CMYK, 16-bit TIFF and an animated GIF. For each folder, there are two equal environments with stock
Pillow. `bench` runs for one of them, and its recommendation is applied there by running the printed command in a shell.

Then two processes load the whole folder in turn, one in each environment: open, convert to RGB, resize, crop, convert
to an array, and stack batches of 32. Files that Pillow cannot read are skipped. The achieved gain is the median of the
rounds' ratios. It should be within 15% of the gain that `bench` promised.

Requires everything that building the stack requires, or a cache with the build (FASTINSTALL_CACHE_DIR).
"""

import argparse
import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

WITHIN = 0.15
TRIES = 3
"""How often bench runs at most, if it recommends nothing because the machine is busy."""
LOOP = """
import json, sys, time
from pathlib import Path

loader, directory = sys.argv[1:]
if loader:
    sys.path.insert(0, loader)
    from loader import load
else:
    from PIL import Image

    def load(path):
        image = Image.open(path).convert("RGB")
        scale = 256 / min(image.size)
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
        left, top = (image.width - 224) // 2, (image.height - 224) // 2
        return image.crop((left, top, left + 224, top + 224))

import numpy

files = sorted(path for path in Path(directory).rglob("*") if path.is_file())
for line in sys.stdin:
    batch, loaded, start = [], 0, time.perf_counter()
    while not loaded or time.perf_counter() - start < float(line):
        for path in files:
            try:
                batch.append(numpy.asarray(load(path)))
            except Exception:
                continue
            loaded += 1
            if len(batch) == 32:
                numpy.stack(batch)
                batch.clear()
    print(loaded / (time.perf_counter() - start), flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result for one kind of folder.

    Attributes:
        kind: the kind of folder.
        bound: what limits the loading, according to bench.
        advice: the recommended candidate; empty if nothing was recommended.
        promised: the promised gain: lowest, typical and highest ratio.
        had: the achieved gain: quartiles of the rounds' ratios.
        command: the command that was run, or why nothing was recommended.
    """

    kind: str
    bound: str
    advice: str = ""
    promised: tuple[float, float, float] = (1.0, 1.0, 1.0)
    had: tuple[float, float, float] = (1.0, 1.0, 1.0)
    command: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of this row in the table."""
        if not self.advice:
            return self.kind, self.bound, "nothing", "", "", "", ""
        ratio = self.had[1] / self.promised[1]
        kept = "yes" if abs(ratio - 1) <= WITHIN else "NO"
        return self.kind, self.bound, self.advice, in_words(self.promised), in_words(self.had), f"{ratio:.2f}", kept


def in_words(gain: tuple[float, float, float]) -> str:
    """Format a gain as text, followed by its range."""
    low, ratio, high = gain
    return f"{ratio:.2f} ({low:.2f}-{high:.2f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", metavar="KIND", nargs="*", help=f"of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--photos", metavar="PYTHON", default=sys.executable, help="an interpreter that has the photos")
    parser.add_argument("--rounds", type=int, default=25, help="in which the two loops take turns")
    parser.add_argument("--full", action="store_true", help="take as long as `bench` does by itself")
    parser.add_argument("--markdown", action="store_true", help="a table for the documentation")
    parser.add_argument("--make", metavar="DIR", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make_folder(options.make)
        return
    with tempfile.TemporaryDirectory(prefix="fastinstall-advice-") as scratch:
        place = Path(scratch)
        make_pristine(place / "pristine")
        rows = []
        for kind in options.kinds or KINDS:
            (place / kind).mkdir()
            subprocess.run((options.photos, __file__, "--make", place / kind), check=True)
            rows.append(take_advice(place, kind, options))
            print(*rows[-1].cells, rows[-1].command, sep="\n  ", file=sys.stderr)
    show(rows, markdown=options.markdown)


def make_pristine(prefix: Path) -> None:
    """Create the environment that all others are copied from."""
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", prefix), check=True)
    words = ("--python", prefix / "bin/python", "install", "--quiet", "--only-binary", ":all:", "pillow", "numpy")
    subprocess.run((sys.executable, "-m", "pip", "--disable-pip-version-check", *words), check=True)


def take_advice(place: Path, kind: str, options: argparse.Namespace) -> Row:
    """Run bench for a folder, follow its recommendation, and measure the gain."""
    before, advised = (shutil.copytree(place / "pristine", place / f"{kind}-{each}", symlinks=True) for each in "ba")
    work = place / f"{kind}-work"
    work.mkdir()
    words = ["fastinstall", "bench", place / kind, "--prefix", advised, "--json", "--only", "loading"]
    result = run_bench([*words, *(() if options.full else ("--quick",))], work)
    bound = result["verdict"]["bound"]
    advice = next((each for each in result["advice"] if each["recommended"]), None)
    if advice is None:
        return Row(kind=kind, bound=bound, command="; ".join(each["message"] for each in result["advice"]))
    command, gain = advice["command"], advice["gain"]
    parts = command.split(" && ")
    exports = dict(
        shlex.split(each.removeprefix("export "))[0].split("=", 1) for each in parts if each.startswith("export ")
    )
    in_shell(" && ".join(each for each in parts if not each.startswith("export ")) or "true", work)
    prepared = next((each for each in work.iterdir() if each.name.startswith(f"{kind}-")), place / kind)
    loader = str(work) if (work / "loader.py").exists() else ""
    loops: Loops = (
        ((before / "bin/python", "-c", LOOP, "", place / kind), {}),
        ((advised / "bin/python", "-c", LOOP, loader, prepared), exports),
    )
    return Row(
        kind=kind,
        bound=bound,
        advice=advice["candidate"],
        promised=(gain["low"], gain["ratio"], gain["high"]),
        had=measure_loops(loops, options.rounds),
        command=command,
    )


def run_bench(words: list[Any], work: Path) -> dict[str, Any]:
    """Return the result of `bench` for a folder; run it again if the machine was too busy."""
    for _ in range(TRIES):
        (result,) = json.loads(in_shell(shlex.join(map(str, words)), work))["workloads"]
        if not any("busy machine" in each["message"] for each in result["advice"]):
            break
    return dict(result)


Loops = tuple[tuple[tuple[Any, ...], dict[str, str]], ...]
"""The command and the environment variables of each loop."""


def measure_loops(loops: Loops, rounds: int) -> tuple[float, float, float]:
    """Run two loops in turn; return how many times as fast the second one is, as quartiles of the rounds' ratios."""
    with ExitStack() as closing:
        processes = [
            closing.enter_context(
                subprocess.Popen(
                    argv, env={**os.environ, **variables}, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
            for argv, variables in loops
        ]
        ratios = []
        for number in range(rounds + 1):
            was, became = (ask(process, "0" if number == 0 else "0.3") for process in processes)
            if number:  # the first pass warms up
                ratios.append(became / was)
        for process in processes:
            process.communicate()
    low, middle, high = statistics.quantiles(ratios)
    return low, middle, high


def ask(process: "subprocess.Popen[str]", seconds: str) -> float:
    """Let a loop run for some seconds, and return the images per second that it measures itself."""
    if process.stdin is None or process.stdout is None:
        raise SystemExit("a loop has no pipes")
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def in_shell(command: str, work: Path) -> str:
    """Run a shell command, with this fastinstall first on PATH and consent to all plans; return what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "FASTINSTALL_YES": "1"}
    words = (str(shutil.which("bash")), "-c", command)
    done = subprocess.run(words, cwd=work, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}\nended with exit code {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def show(rows: list[Row], *, markdown: bool) -> None:
    """Print a table, aligned for a terminal or in Markdown."""
    names = ("folder", "bottleneck", "advice", "promised", "had", "had / promised", f"within {WITHIN:.0%}")
    cells = [names, *([tuple("---" for _ in names)] if markdown else []), *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print(f"| {' | '.join(line)} |" if markdown else "  ".join(padded).rstrip())


def make_folder(directory: Path) -> None:
    """Write the images of a folder whose name says its kind. This runs in the interpreter that has the photos."""
    KINDS[directory.name](directory, list_photos())


def list_photos() -> list[Any]:
    """Return the photos that are included in scikit-image and scikit-learn, as Pillow images."""
    from PIL import Image  # only in the interpreter with the photos

    more = import_module("sklearn.datasets").load_sample_images().images
    return [Image.fromarray(each) for each in (import_module("skimage.data").astronaut(), *more)]


def vary(photos: list[Any], count: int, size: tuple[int, int]) -> list[Any]:
    """Return different parts of the photos, scaled to a size, with noise like a camera sensor's."""
    from PIL import Image

    chance, found = random.Random(0), []  # noqa: S311 (the same pictures every time)
    for number in range(count):
        photo = photos[number % len(photos)]
        side = min(photo.size)
        left, top = chance.randrange(photo.width - side + 1), chance.randrange(side // 5)
        part = photo.crop((left, top, left + side - side // 5, top + (side - side // 5) * size[1] // size[0]))
        grain = Image.effect_noise(size, 12).convert("RGB")
        found.append(Image.blend(part.resize(size, Image.Resampling.LANCZOS), grain, 0.05))
    return found


def make_thumbnails(directory: Path, photos: list[Any]) -> None:
    for number, photo in enumerate(vary(photos, 60, (200, 200))):
        photo.save(directory / f"{number:03}.jpg", quality=88)


def make_large(directory: Path, photos: list[Any]) -> None:
    for number, photo in enumerate(vary(photos, 6, (4000, 3000))):
        photo.save(directory / f"{number:03}.jpg", quality=90)


def make_progressive(directory: Path, photos: list[Any]) -> None:
    for number, photo in enumerate(vary(photos, 16, (1200, 900))):
        photo.save(directory / f"{number:03}.jpg", quality=85, progressive=True)


def make_screenshots(directory: Path, photos: list[Any]) -> None:
    """Draw screenshots: lines of text, with a photo on top."""
    from PIL import Image, ImageDraw

    chance = random.Random(0)  # noqa: S311 (the same pictures every time)
    for number, photo in enumerate(vary(photos, 10, (320, 240))):
        screen = Image.new("RGB", (1280, 800), (236, 240, 241))
        draw = ImageDraw.Draw(screen)
        for row in range(60):
            draw.text(
                (20 + chance.randrange(4) * 20, 20 + row * 12), f"{chance.random()} of line {row} " * 4, fill="black"
            )
        screen.paste(photo, (chance.randrange(900), chance.randrange(500)))
        screen.save(directory / f"{number:03}.png")


def make_mixture(directory: Path, photos: list[Any]) -> None:
    """Write images of several formats, and broken files, as in an untidy folder."""
    from PIL import Image

    found = vary(photos, 30, (640, 480))
    for number, photo in enumerate(found):
        photo.save(directory / f"{number:03}.{'png' if number % 5 == 0 else 'jpg'}")
    whole = (directory / "001.jpg").read_bytes()
    (directory / "truncated.jpg").write_bytes(whole[: len(whole) // 2])
    (directory / "text.png").write_text("no image")
    (directory / "empty.jpg").touch()
    found[0].convert("CMYK").save(directory / "cmyk.jpg")
    Image.new("I;16", (640, 480)).save(directory / "deep.tiff")
    found[1].save(directory / "animated.gif", save_all=True, append_images=[found[2]])


KINDS: dict[str, Callable[[Path, list[Any]], None]] = {
    "thumbnails": make_thumbnails,
    "photos": make_large,
    "progressive": make_progressive,
    "screenshots": make_screenshots,
    "mixture": make_mixture,
}

if __name__ == "__main__":
    main()
