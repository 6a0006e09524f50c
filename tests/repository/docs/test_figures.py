"""Figures on pages agree with the code; figures that appear on several pages are in docs/figures.toml."""

import re
import tomllib

import pytest
from support.docs.pages import ROOT

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.directories import recipes_directory
from fastinstall.model.speed import HEADLINE_WORK
from fastinstall.observe.recipes import load_recipes
from fastinstall.proof.cases import operation_of
from fastinstall.proof.matrix_cases import MODES, matrix_cases
from fastinstall.proof.quick import QUICK
from whole_proof.run import WHOLE

FIGURES = tomllib.loads((ROOT / "docs/figures.toml").read_text("utf-8"))
DOWNLOAD, DISK = FIGURES["download"], FIGURES["disk"]

SAID = {
    "a first setup from a clone downloads {} MB": (sum(DOWNLOAD.values()), 10, ("README.md",)),
    "the first setup downloads {} MB": (
        sum(size for what, size in DOWNLOAD.items() if what != "tool"),
        10,
        ("docs/tutorial/first-steps.md", "docs/tutorial/wizard.md", "docs/explanation/comparison.md"),
    ),
    "{} MB of disk": (DISK["cache"] + DISK["tool"] + DISK["environment"], 10, ("README.md",)),
    "{} MB in its cache": (DISK["cache"], 10, ("docs/tutorial/first-steps.md", "docs/explanation/comparison.md")),
    "{} MB to download": (DOWNLOAD["tool"], 1, ("bootstrap.sh",)),
    "a wheel of {} MB": (DOWNLOAD["compiler"], 1, ("docs/how-to/choose.md",)),
    "{} MB for clang": (DISK["compiler"], 10, ("docs/how-to/choose.md",)),
    "up to {} MB of freed memory": (FIGURES["process"]["kept-mb"], 1, ("README.md",)),
    "Each start of Python takes {} ms longer": (FIGURES["process"]["start-ms"], 1, ("README.md",)),
    "a start-up hook warns once per program; {} ms per start": (
        FIGURES["process"]["start-ms"],
        1,
        ("fastinstall/cli/wizard/choices.py",),
    ),
}
"""Sentences with a figure; for each, the figure's value, its rounding, and the files that contain the sentence."""


def _page(name: str) -> str:
    return " ".join((ROOT / name).read_text("utf-8").split())


@pytest.mark.parametrize("said", SAID)
def test_pages_give_the_figures_of_the_data_file(said: str) -> None:
    figure, rounding, pages = SAID[said]
    text = said.format(round(figure / rounding) * rounding)
    assert [page for page in pages if text.lower() not in _page(page).lower()] == []


def test_the_cache_is_as_large_as_a_plan_says() -> None:
    fetched = sum(DOWNLOAD[name] for name in ("compiler", "pillow-sdist", "official-wheel", "zlib-ng-sdist"))
    compiler = list_wheel_compilers()["ziglang"].unpacked_bytes / 1_000_000
    assert round(compiler) == DISK["compiler"]
    assert round(fetched + compiler + 4 * DOWNLOAD["official-wheel"], -1) == round(DISK["cache"], -1)


def test_one_mean_is_said_of_all_operations() -> None:
    rows = (ROOT / "docs/explanation/speed.md").read_text("utf-8").splitlines()
    row = next(line for line in rows if line.startswith("| geometric mean"))
    operations = re.search(r"(\d+) for `pillow-fast`", row)
    assert operations is not None
    mean = row.rstrip(" |").rpartition("|")[2].strip()
    page = _page("docs/explanation/comparison.md")
    assert f"The geometric mean of {operations[1]} operations is {mean}." in page
    assert f"| fastinstall | the newest, with SIMD kernels | {mean} |" in page


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/first-steps.md", "docs/tutorial/wizard.md"])
def test_the_headline_is_the_recipes(page: str) -> None:
    measured = load_recipes((recipes_directory(),))["pillow-fast"].bench.measured
    figure = measured.split()[0]
    assert HEADLINE_WORK in _page(page).lower()
    assert f"{figure} times as fast as" in _page(page)


def test_what_a_process_keeps_is_what_the_core_sets() -> None:
    usual = re.search(r"#define USUAL_MB (\d+)", (recipes_directory() / "memory.c").read_text("utf-8"))
    assert usual is not None
    assert int(usual[1]) == FIGURES["process"]["kept-mb"]


def test_the_page_on_the_proof_counts_its_cases() -> None:
    page = _page("docs/explanation/proof.md")
    quick, whole = matrix_cases(sizes=QUICK.sizes), matrix_cases(sizes=WHOLE.sizes)
    operations = len({operation_of(case) for case in whole})
    assert f"A setup tries {len(quick):,} of them on {len(QUICK.sizes)} sizes" in page
    assert f"{len(whole):,} on {len(WHOLE.sizes)}: {operations} operations, {len(MODES)} modes," in page


def test_readme_counts_them_by_ten_thousands() -> None:
    tens = round(len(matrix_cases(sizes=QUICK.sizes)), -4)
    assert f"some {tens:,} operations on small images" in _page("README.md")


def test_the_wheelhouse_page_names_the_pythons_our_wheels_serve() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if " :: 3." in each]
    assert f"It fits Python {named[0]} to {named[-1]} on" in _page("docs/how-to/wheelhouse.md")
