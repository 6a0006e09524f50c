from dataclasses import replace

import pytest
from support.values.builders import advisory, changed, recipe

from fastinstall.cli.wizard.choices import offer_answers, offer_meanings
from fastinstall.model.advisories import Severity
from fastinstall.model.recipe import Recipe
from fastinstall.model.speed import SpeedTable
from fastinstall.plan.versions import VersionChoice
from fastinstall.verbs.recipe_comparison import RecipePreview

FIGURE = "2.07 times as fast as stock Pillow 13.0.0 (2026-11-21)"
FORK = changed(recipe(), {"bench": {"measured": FIGURE}})
KERNELS = [{"name": "turn", "file": "a.c", "functions": ["f"], "operations": ["turn"], "reason": "measured"}]
FAST = changed(FORK, {"name": "pillow-fast", "summary": "both", "kernels": KERNELS, "recommended": True})
STOCK = changed(FORK, {"name": "pillow", "summary": "stock", "expect": {"symbols": []}, "bench": {"measured": ""}})
SPEED = SpeedTable(
    baseline="pillow 13.0.0 (wheel)",
    candidate="pillow 13.0.0+simd.v2.v3",
    cpu="AMD EPYC",
    measured_at="2026-11-21T10:00:00+00:00",
    geomean=2.29,
    rows=(),
)


def _offer(used: Recipe, version: str) -> RecipePreview:
    return RecipePreview(
        recipe=used, choice=VersionChoice(version=version, source=None, base_wheel=None, reason="a test")
    )


def test_recipes_stand_side_by_side_with_version_advisories_and_speed() -> None:
    known = (advisory("CVE-1", "<13", Severity.CRITICAL), advisory("CVE-2", "<13"), advisory("CVE-3", "<13"))
    offers = (
        replace(_offer(FAST, "13.0.0"), speed=SPEED),
        replace(_offer(FORK, "12.1.1.post0"), advisories=known),
        _offer(STOCK, "13.0.0"),
    )
    assert offer_answers(offers) == {
        "pillow-fast": "pillow-fast (recommended)",
        "pillow-simd": "pillow-simd",
        "pillow": "pillow",
    }
    assert offer_meanings(offers) == {
        "pillow-fast": "both; 13.0.0, no known advisories; SIMD kernels on today's Pillow, the same pixels; "
        "measured here 2026-11-21: 2.29 times as fast as pillow 13.0.0 (wheel)",
        "pillow-simd": "SIMD fork of Pillow; 12.1.1.post0, 3 known advisories (1 critical, 2 high); "
        f"SIMD kernels of an older Pillow; measured elsewhere: {FIGURE}",
        "pillow": "stock; 13.0.0, no known advisories; stock code, optimised",
    }


@pytest.mark.parametrize("used", [FAST, FORK])
def test_a_recipe_that_does_not_fit_says_why(used: Recipe) -> None:
    offer = RecipePreview(recipe=used, choice=None, problem="the environment does not allow it")
    assert "; nothing fits: the environment does not allow it; " in offer_meanings((offer,))[used.name]
