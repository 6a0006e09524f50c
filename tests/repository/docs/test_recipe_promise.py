"""Recipes claim only what was measured and published."""

from pathlib import Path

from fastinstall.core.directories import recipes_directory
from fastinstall.model.speed import HEADLINE_WORK
from fastinstall.observe.recipes import load_recipes

SPEED = Path(__file__).parents[3] / "docs" / "explanation" / "speed.md"


def test_the_figures_are_those_of_the_published_table() -> None:
    lines = SPEED.read_text(encoding="utf-8").splitlines()
    row = next(line for line in lines if line.startswith("| decode, resize to 256, crop to 224"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    recipes = load_recipes((recipes_directory(),))
    for name, cell in (("pillow-simd", cells[1]), ("pillow-fast", cells[2])):
        figure = cell.split(" / ")[1]  # the figure for 1080p images
        assert recipes[name].bench.measured.startswith(f"{figure} times as fast as ")
        assert HEADLINE_WORK in recipes[name].bench.measured
