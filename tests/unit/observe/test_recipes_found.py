"""Recipes of other distributions, by the entry points that name them, and the recipe that a receipt names."""

from pathlib import Path

import pytest
from support.elf.extension_package import make_distribution
from support.suite.golden import Golden
from support.values.builders import changed, environment, receipt
from support.values.sessions import a_session

from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.observe.recipes import load_recipe, load_recipes, read_recorded_recipe, recipe_problems

SHIPPED = recipes_directory()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on the path."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def make_recipe(site: Path, name: str, module: str = "acme_recipes") -> None:
    text = (SHIPPED / "pillow.toml").read_text(encoding="utf-8").replace('name = "pillow"\n', f'name = "{name}"\n')
    files = {f"acme_recipes/{name}.toml": text}
    make_distribution(site, "acme-recipes", files=files, points={"fastinstall.recipes": {"acme": module}})


def test_a_recipe_of_another_distribution_is_one_of_the_recipes(site: Path) -> None:
    make_recipe(site, "acme-pillow")
    assert sorted(load_recipes((SHIPPED,))) == ["acme-pillow", "pillow", "pillow-fast", "pillow-simd"]
    recipe = load_recipe("acme-pillow", (SHIPPED,))
    assert recipe.name == "acme-pillow"
    assert recipe.advisories == load_recipe("pillow", (SHIPPED,)).advisories
    assert recipe_problems((SHIPPED,)) == ()


def test_a_name_of_ours_stays_ours_and_that_is_told(site: Path, golden: Golden) -> None:
    make_recipe(site, "pillow")
    (site / "acme_recipes/pillow.toml").write_text("it is not even read", encoding="utf-8")
    assert load_recipe("pillow", (SHIPPED,)) == load_recipes((SHIPPED,))["pillow"]
    (problem,) = recipe_problems((SHIPPED,))
    golden(problem, SHIPPED=SHIPPED)


def test_a_package_that_is_not_there_is_told_and_hinders_nothing(site: Path, golden: Golden) -> None:
    make_recipe(site, "acme-pillow", module="acme_elsewhere")
    assert "acme-pillow" not in load_recipes((SHIPPED,))
    (problem,) = recipe_problems((SHIPPED,))
    golden(problem)


def test_an_unknown_name_is_answered_with_theirs_too(site: Path) -> None:
    make_recipe(site, "acme-pillow")
    with pytest.raises(UsageError) as caught:
        load_recipe("acme-pilow", (SHIPPED,))
    assert "did you mean --recipe acme-pillow?" in str(caught.value.hint)


def test_an_unknown_recipe_of_a_receipt_is_told_with_file_and_key(tmp_path: Path) -> None:
    session, target = a_session(tmp_path), environment()
    assert read_recorded_recipe(session, target, receipt()).name == "pillow-simd"
    with pytest.raises(DocumentError, match="'nonesuch'") as caught:
        read_recorded_recipe(session, target, changed(receipt(), {"recipe": "nonesuch"}))
    assert (str(caught.value.file).endswith("share/fastinstall/receipt.json"), caught.value.key) == (True, "recipe")
