"""Whoever names a recipe by its former name means the one of today; what was built by it stays told."""

from typing import Any

import pytest
from support.values.builders import receipt

from fastinstall.core.codec import document, encode
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import describe_renaming, find_current_name
from fastinstall.model.stored_documents import open_stored, rename_in_plan

FORMER, TODAY = "pillow-merged", "pillow-fast"
SDIST = {"name": "pillow-simd", "version": "12.1.1.post0"}


def plan(recipe: str, **step: Any) -> dict[str, Any]:
    """A saved plan of an earlier version, as far as it matters here."""
    build = {"kind": "build", "recipe": recipe, "version": "13.0.0+simd.v3", **step}
    return {"wish": {"recipe": recipe, "level": "auto"}, "steps": [{"kind": "verify"}, build]}


@pytest.mark.parametrize(("name", "current"), [(FORMER, TODAY), (TODAY, TODAY), ("pillow", "pillow"), ("", "")])
def test_a_former_name_is_told_once_it_is_one(name: str, current: str) -> None:
    assert find_current_name(name) == current
    assert describe_renaming(name) == (f"recipe {name} is now {current}" if name == FORMER else "")


def test_a_saved_plan_of_the_former_recipe_asks_for_todays_and_fetches_no_fork() -> None:
    assert rename_in_plan(plan(FORMER, kernels=SDIST, base=SDIST)) == plan(TODAY)


def test_a_saved_plan_of_another_recipe_stays_but_for_keys_that_say_nothing() -> None:
    assert rename_in_plan(plan("pillow-simd", kernels=None, base=None)) == plan("pillow-simd")


def test_a_plan_with_the_sdist_of_a_fork_for_another_recipe_is_left_to_be_refused() -> None:
    forged = plan("pillow", kernels=SDIST)
    assert rename_in_plan(forged) == forged


@pytest.mark.parametrize("data", [None, [], {}, {"wish": 1, "steps": []}, {"wish": {"recipe": []}, "steps": [1, {}]}])
def test_what_is_no_plan_is_left_to_its_reader(data: object) -> None:
    assert rename_in_plan(data) == data


def test_a_receipt_asks_for_todays_recipe_and_still_says_which_one_built_the_core() -> None:
    data = document("receipt", receipt())
    old = {
        **data,
        "recipe": FORMER,
        "wish": {**encode(receipt().request), "recipe": FORMER},
        "kernels": "pillow-simd 1",
    }
    found = open_stored(Receipt, "receipt", old, file="receipt.json")
    assert (found.recipe, found.request.recipe) == (FORMER, TODAY)
