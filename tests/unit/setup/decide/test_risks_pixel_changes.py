from dataclasses import replace
from datetime import date

import pytest
from support.values.builders import healthy_facts, recipe

from fastinstall.core.directories import recipes_directory
from fastinstall.model.advisories import PixelChange
from fastinstall.observe.recipes import load_recipe
from fastinstall.setup.decide.risks import describe_pixel_changes

STACK = healthy_facts().stack
LATER, EARLIER = (
    PixelChange(since=since, summary=f"changed in {since}", source="a test", demonstration="", dated=date(2026, 1, 1))
    for since in ("13.0.0", "12.2.0")
)
RECIPE = replace(recipe(), pixel_changes=(EARLIER, LATER))


@pytest.mark.parametrize(
    ("installed", "coming", "named"),
    [
        ("12.1.1", "13.0.0", ": since 13.0.0 changed in 13.0.0; since 12.2.0 changed in 12.2.0"),
        ("12.2.0", "13.0.0+simd.v3", ": since 13.0.0 changed in 13.0.0"),
        ("13.0.0", "12.3.0", ": since 13.0.0 changed in 13.0.0"),
        ("13.0.0", "13.0.0+simd.v3", ""),
        ("13.0.0+simd.v3", "13.1.0", ""),
        ("12.1.1.post0", "12.1.1", ""),
        (None, "13.0.0", ""),
        ("unknown", "13.0.0", ""),
    ],
)
def test_changes_from_installed_to_coming_version_are_named(installed: str | None, coming: str, named: str) -> None:
    sentences = describe_pixel_changes(RECIPE, replace(STACK, version=installed), coming)
    assert len(sentences) == bool(named)
    assert "".join(sentences).endswith(named)


@pytest.mark.parametrize("name", ["pillow", "pillow-fast", "pillow-simd"])
def test_every_recipe_has_the_table(name: str) -> None:
    changes = load_recipe(name, (recipes_directory(),)).pixel_changes
    assert {"12.2.0", "12.3.0", "13.0.0"} <= {each.since for each in changes}
