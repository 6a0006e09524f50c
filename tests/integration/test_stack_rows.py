"""benchmarks/stack.py times several builds, and fails if a build computes different pixels."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

STACK = Path(__file__).parents[2] / "benchmarks/stack.py"

WRONG = """
from PIL import ImageOps
right = ImageOps.invert
ImageOps.invert = lambda picture: right(picture).point(lambda level: min(level + 1, 255))
"""


def measure(*words: str) -> subprocess.CompletedProcess[str]:
    effort = ("--sizes", "48x36", "--rounds", "1", "--seconds", "0")
    argv = [sys.executable, str(STACK), *words, *effort]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)


def test_every_row_is_measured_with_equal_pixels(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = measure(f"stock={sys.executable}", f"ours={sys.executable}", "--json", str(figures))
    assert done.returncode == 0, done.stderr
    cells = json.loads(figures.read_text())
    rows = {cell["row"] for cell in cells}
    assert len(rows) > 130
    assert len(cells) == 2 * len(rows)
    assert all(cell["pixels"] == "=" and min(cell["ms"]) > 0 for cell in cells)
    assert f"geometric mean of {len(rows)}" in done.stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_other_pixels_are_an_error(threads: int, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WRONG)
    wrong = tmp_path / "python"
    wrong.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(tmp_path))} exec {shlex.quote(sys.executable)} "$@"\n')
    wrong.chmod(0o755)
    words = ("--rows", "^(invert|solarize)$", "--threads", str(threads))
    done = measure(f"stock={sys.executable}", f"ours={wrong}", *words)
    assert done.returncode == 1, done.stderr
    assert "pixels that differ: invert 48x36 ours\n" in done.stdout


def test_peers_that_are_absent_have_no_column() -> None:
    done = measure(f"stock={sys.executable}", "--peers", sys.executable, "--rows", "^jpeg->array$")
    assert done.returncode == 0, done.stderr
    assert "opencv: absent" in done.stdout
