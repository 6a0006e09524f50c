"""What is promised for somebody's images is what was measured and published, and nothing more."""

import re
from pathlib import Path

import pytest

from fastinstall.cli.wizard.menu import (
    LOADING,
    ExaminedImages,
    choose_representative_images,
    describe_expected_loading,
)
from fastinstall.core.surroundings import recipes_directory
from fastinstall.observe.observation import load_recipes

EXPLANATION = Path(__file__).parents[3] / "docs" / "explanation"


def _row(page: str, start: str) -> list[str]:
    """The cells of the last table row on a page that begins so."""
    lines = (EXPLANATION / page).read_text(encoding="utf-8").splitlines()
    row = next(line for line in reversed(lines) if line.startswith(f"| {start}"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def _figures(row: list[str], column: int) -> float | None:
    found = re.match(r"[\d.]+", row[column])
    return float(found[0]) if found else None


@pytest.mark.parametrize(
    ("kind", "column"), [("JPEG of 500 pixels", 1), ("JPEG of 12 megapixels", 2), ("PNG of 800 pixels", 3)]
)
def test_the_figures_are_those_of_the_published_table(kind: str, column: int) -> None:
    figures = next(each for each in LOADING if each.kind == kind)
    assert figures.build == _figures(_row("performance.md", "the fastinstall build | 1"), column)
    assert figures.draft == _figures(_row("performance.md", "`pillow-draft`"), column)
    assert figures.copies == _figures(_row("performance.md", "`resized`"), column)


def test_the_means_are_those_of_the_published_table() -> None:
    row = _row("speed.md", "geometric mean")
    recipes = load_recipes((recipes_directory(),))
    assert recipes["pillow-simd"].bench.measured.startswith(row[1])
    assert recipes["pillow-merged"].bench.measured.startswith(row[2])
    assert _row("speed.md", "decode, resize to 256, crop to 224")[2].endswith("/ 1.9")
    assert next(each for each in LOADING if "1080p" in each.kind).build == 1.9


@pytest.mark.parametrize(
    ("name", "megapixels", "kind"),
    [
        ("JPEG", 0.2, "JPEG of 500 pixels"),
        ("JPEG", 2.1, "JPEG of 1080p"),
        ("JPEG", 12.0, "JPEG of 12 megapixels"),
        ("JPEG", 100.0, "JPEG of 12 megapixels"),
        ("PNG", 12.0, "PNG of 800 pixels"),
    ],
)
def test_images_are_told_what_was_measured_on_like_ones(name: str, megapixels: float, kind: str) -> None:
    assert choose_representative_images(name, megapixels).kind == kind


def test_large_photos_are_told_that_draft_decoding_helps_more_than_any_build() -> None:
    sizes = {"JPEG": (12.0, 12.2, 8.0), "PNG": (0.1,)}
    told = list(describe_expected_loading(ExaminedImages(files=900, complete=False, megapixels=sizes)))
    assert told[0] == "900 or more images found; 3 of 4 looked at are JPEG, typically of 12.0 megapixels."
    assert told[1] == (
        "Draft decoding, one line of code (image.draft), loaded such images 5.9 times as fast, "
        "the fast build alone 1.3 times."
    )
    assert "2026-11-22" in told[-1]
    assert told[-1].endswith("on your own: fastinstall bench DIR.")


def test_small_photos_are_told_what_the_build_brings() -> None:
    told = list(describe_expected_loading(ExaminedImages(files=1, complete=True, megapixels={"JPEG": (0.19,)})))
    assert told[0] == "1 image found; 1 of 1 looked at are JPEG, typically of 0.19 megapixels."
    assert told[1] == "The fast build loaded such images 1.9 times as fast: decoded, resized and cropped."


def test_where_there_is_no_figure_none_is_given() -> None:
    [told] = describe_expected_loading(ExaminedImages(files=0, complete=True, megapixels={}))
    assert told == "No images were found there."
    [told] = describe_expected_loading(ExaminedImages(files=7, complete=True, megapixels={}))
    assert told == "7 images found; none of those looked at is a JPEG or PNG, for which there are figures."
