"""If only the start-up guard is damaged, only the start-up guard is renewed."""

from dataclasses import replace
from typing import Any

import pytest
from support.values.builders import changed, healthy_facts, receipt, recipe, request

from fastinstall.setup.decide.nothing_to_do import plan_nothing
from fastinstall.setup.steps.prove import Verify
from fastinstall.setup.steps.swap import InstallGuard

OUTDATED = {"guard": {"problems": ["the guard is outdated: version 0"]}}


@pytest.mark.parametrize("changes", [OUTDATED, {"guard": {"installed": False, "version": ""}}])
def test_the_guard_alone_is_renewed(changes: dict[str, Any]) -> None:
    made = plan_nothing(changed(healthy_facts(), changes), recipe(), request(), receipt())
    assert made is not None
    assert [type(step) for step in made.steps] == [InstallGuard, Verify]
    assert "the stack itself is intact" in made.summary


@pytest.mark.parametrize(
    "changes",
    [
        {"stack": {"core": {"sha256": "0" * 64}}},
        {"stack": {"unclaimed": ["PIL/_avif.so"]}},
        {"stack": {"debris": ["~IL"]}},
    ],
)
def test_whatever_else_is_wrong_takes_a_whole_setup(changes: dict[str, Any]) -> None:
    assert plan_nothing(changed(healthy_facts(), {**OUTDATED, **changes}), recipe(), request(), receipt()) is None


def test_a_guard_that_was_declined_is_not_installed() -> None:
    declined = replace(request(), guard=False)
    made = plan_nothing(changed(healthy_facts(), OUTDATED), recipe(), declined, receipt())
    assert made is not None
    assert made.steps == ()
    assert plan_nothing(changed(healthy_facts(), OUTDATED), recipe(), request(), None) is None
