from typing import Any

import pytest
from builders import changed, healthy_facts, receipt, recipe

from fastinstall.model.wish import Wish
from fastinstall.rules.satisfied import unsatisfied


def test_an_untouched_environment_satisfies_the_wish_it_was_made_for() -> None:
    assert unsatisfied(healthy_facts(), recipe(), Wish(), receipt()) is None


def test_without_a_receipt_everything_is_to_be_done() -> None:
    assert unsatisfied(healthy_facts(), recipe(), Wish(), None) == "fastinstall has set up nothing here"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stack": {"core": None}}, "the imaging core is not the one that was installed"),
        ({"stack": {"core": {"sha256": "0" * 64}}}, "the imaging core is not the one that was installed"),
        ({"stack": {"version": "13.0.0"}}, "PIL says 13.0.0, but 12.1.1.post0 was installed"),
        ({"stack": {"owners": []}}, "the distributions that own PIL"),
        ({"stack": {"owners": {"0": {"mismatched": ["PIL/Image.py"]}}}}, "files of PIL were changed"),
        ({"stack": {"owners": {"0": {"missing": ["PIL/Image.py"]}}}}, "files of PIL were changed"),
        ({"stack": {"unclaimed": ["PIL/_avif.so"]}}, "files of PIL were changed"),
        ({"stack": {"has_init": False}}, "files of PIL were changed"),
        ({"stack": {"debris": ["~IL"]}}, "left over from an interrupted installer: ~IL"),
        ({"interrupted": "20261121T100000Z-1a2b"}, "transaction 20261121T100000Z-1a2b did not finish"),
        ({"guard": {"installed": False}}, "the start-up guard is missing or damaged"),
        ({"guard": {"problems": ["outdated"]}}, "the start-up guard is missing or damaged"),
        ({"cpu": {"flags": [], "level": "x86-64-v2"}}, "level x86-64-v2 suits this CPU and wish, not x86-64-v3"),
    ],
)
def test_whatever_has_changed_is_a_reason(changes: dict[str, Any], reason: str) -> None:
    found = unsatisfied(changed(healthy_facts(), changes), recipe(), Wish(), receipt())
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"upgrade": True}, "an upgrade was asked for"),
        ({"recipe": "pillow"}, "asked for pillow as pillow (bundle), not pillow-simd as pillow"),
        ({"link": "system"}, "(system)"),
        ({"dist_name": "pillow-simd"}, "as pillow-simd"),
        ({"version": "12.0.0.post0"}, "asked for version 12.0.0.post0, not 12.1.1.post0"),
        ({"level": "x86-64-v2"}, "level x86-64-v2"),
    ],
)
def test_another_wish_is_a_reason(wish: dict[str, Any], reason: str) -> None:
    found = unsatisfied(healthy_facts(), recipe(), changed(Wish(), wish), receipt())
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    "wish",
    [{"jobs": 7}, {"offline": True}, {"allow": ["downgrade"]}, {"version": "12.1.1.post0"}, {"level": "x86-64-v3"}],
)
def test_a_wish_for_what_is_there_is_no_reason(wish: dict[str, Any]) -> None:
    assert unsatisfied(healthy_facts(), recipe(), changed(Wish(), wish), receipt()) is None


def test_a_guard_that_nobody_wants_is_not_missed() -> None:
    facts = changed(healthy_facts(), {"guard": {"installed": False, "problems": ["missing"]}})
    assert unsatisfied(facts, recipe(), Wish(guard=False), receipt()) is None
