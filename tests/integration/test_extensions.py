"""Another distribution beside fastinstall: its recipe and its adapter, through the program itself."""

import re
import sys
from pathlib import Path

import pytest
from PIL import Image
from support.elf.extension_package import ADAPTER, make_distribution
from support.sandbox import Sandbox

import fastinstall
from fastinstall.bench.loading import Job, start_loading
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import ExitCode

POINTS = {
    "fastinstall.recipes": {"acme": "acme.recipes"},
    "fastinstall.adapters": {"acme-raw": "acme.raw", "pyvips": "acme.raw"},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory with one distribution that brings something of each kind, and names of ours."""
    stock = (recipes_directory() / "pillow.toml").read_text(encoding="utf-8")
    files = {
        "acme/__init__.py": "",
        "acme/raw.py": ADAPTER,
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


def test_bench_offers_its_adapter(sandbox: Sandbox, beside: dict[str, str | None]) -> None:
    told = sandbox.cli("bench", "--list", env=beside)
    assert "acme-raw" in told.stdout
    assert "'pyvips' of acme-images 1.0" in told.stderr
    code = sandbox.cli("bench", "--print-code", "acme-raw", env=beside)
    assert "def load(path):" in code.stdout


def test_its_adapter_runs_in_a_target_that_does_not_have_it(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photo = tmp_path / "photo.jpg"
    Image.new("RGB", (64, 48)).save(photo)
    monkeypatch.syspath_prepend(site)
    with start_loading(Job(python=Path(sys.executable), images=(photo,), adapter="acme-raw", tensor=False)) as talk:
        assert talk.versions == {"acme": "1.0"}
        assert list(talk.measure(0.0).stages) == ["read", "decode"]
