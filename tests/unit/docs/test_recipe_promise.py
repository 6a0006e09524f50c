"""What recipes promise is what was measured and published."""

from pathlib import Path

from fastinstall.core.directories import recipes_directory
from fastinstall.observe.recipes import load_recipes

SPEED = Path(__file__).parents[3] / "docs" / "explanation" / "speed.md"


def test_the_means_are_those_of_the_published_table() -> None:
    lines = SPEED.read_text(encoding="utf-8").splitlines()
    row = next(line for line in reversed(lines) if line.startswith("| geometric mean"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    recipes = load_recipes((recipes_directory(),))
    assert recipes["pillow-simd"].bench.measured.startswith(cells[1])
    assert recipes["pillow-fast"].bench.measured.startswith(cells[2])
