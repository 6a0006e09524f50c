"""Another distribution beside fastinstall: its recipe, through the program itself."""

import re
from pathlib import Path

import pytest
from support.elf.extension_package import make_distribution
from support.sandbox import Sandbox

import fastinstall
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import ExitCode

POINTS = {
    "fastinstall.recipes": {"acme": "acme.recipes"},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory with one distribution that brings a recipe, and a name of ours."""
    stock = (recipes_directory() / "pillow.toml").read_text(encoding="utf-8")
    files = {
        "acme/__init__.py": "",
        "acme/recipes/acme-pillow.toml": stock.replace('name = "pillow"\n', 'name = "acme-pillow"\n'),
        "acme/recipes/pillow.toml": stock,
    }
    return make_distribution(tmp_path / "site", "acme-images", files=files, points=POINTS)


@pytest.fixture
def beside(site: Path) -> dict[str, str | None]:
    """Variables that put it beside fastinstall."""
    return {"PYTHONPATH": f"{site}:{Path(fastinstall.__file__).parents[1]}"}


def test_its_recipe_is_one_of_the_recipes(sandbox: Sandbox, beside: dict[str, str | None]) -> None:
    told = sandbox.cli("recipes", "list", env=beside)
    assert re.match(r"acme-pillow +stock Pillow", told.stdout)
    assert "'pillow' of acme-images 1.0" in told.stderr
    assert sandbox.cli("recipes", "check", "acme-pillow", env=beside).exit_code == ExitCode.OK
    assert sandbox.cli("recipes", "check", "acme-pillow").exit_code == ExitCode.USAGE
