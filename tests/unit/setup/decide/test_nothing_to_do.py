from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import changed, conda_receipt, healthy_conda_facts, healthy_facts, receipt, recipe, request

from fastinstall.setup.decide.nothing_to_do import explain_needed_setup


def test_an_untouched_environment_satisfies_its_original_request() -> None:
    assert explain_needed_setup(healthy_facts(), recipe(), request(), receipt()) is None


def test_without_a_receipt_everything_is_to_be_done(golden: Golden) -> None:
    golden(explain_needed_setup(healthy_facts(), recipe(), request(), None))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stack": {"core": None}}, "Pillow's C extension is not the one that was installed"),
        ({"stack": {"core": {"sha256": "0" * 64}}}, "Pillow's C extension is not the one that was installed"),
        ({"stack": {"version": "13.0.0"}}, "PIL says 13.0.0, but 12.1.1.post0 was installed"),
        ({"stack": {"owners": []}}, "PIL does not belong to the distribution"),
        ({"stack": {"owners": {"0": {"mismatched": ["PIL/Image.py"]}}}}, "files of PIL were changed"),
        ({"stack": {"owners": {"0": {"missing": ["PIL/Image.py"]}}}}, "files of PIL were changed"),
        ({"stack": {"unclaimed": ["PIL/_avif.so"]}}, "files of PIL were changed"),
        ({"stack": {"has_init": False}}, "files of PIL were changed"),
        ({"stack": {"debris": ["~IL"]}}, "left over from an interrupted installer: ~IL"),
        ({"interrupted": "20261121T100000Z-1a2b"}, "transaction 20261121T100000Z-1a2b did not finish"),
        ({"guard": {"installed": False}}, "the start-up guard is missing or damaged"),
        ({"guard": {"problems": ["outdated"]}}, "the start-up guard is missing or damaged"),
        (
            {"cpu": {"flags": [], "level": "x86-64-v2"}},
            "level x86-64-v2 suits this CPU and request; installed: x86-64-v3",
        ),
    ],
)
def test_whatever_has_changed_is_a_reason(changes: dict[str, Any], reason: str) -> None:
    found = explain_needed_setup(changed(healthy_facts(), changes), recipe(), request(), receipt())
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"upgrade": True}, "an upgrade was requested"),
        ({"recipe": "pillow"}, "requested: pillow as pillow (bundle); installed: pillow-simd as pillow"),
        ({"link": "system"}, "(system)"),
        ({"dist_name": "pillow-simd"}, "as pillow-simd"),
        ({"version": "12.0.0.post0"}, "requested: version 12.0.0.post0; installed: 12.1.1.post0"),
        ({"level": "x86-64-v2"}, "level x86-64-v2"),
    ],
)
def test_another_request_is_a_reason(asked: dict[str, Any], reason: str) -> None:
    found = explain_needed_setup(healthy_facts(), recipe(), changed(request(), asked), receipt())
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    "asked",
    [{"jobs": 7}, {"offline": True}, {"allow": ["downgrade"]}, {"version": "12.1.1.post0"}, {"level": "x86-64-v3"}],
)
def test_a_request_for_what_is_there_is_no_reason(asked: dict[str, Any]) -> None:
    assert explain_needed_setup(healthy_facts(), recipe(), changed(request(), asked), receipt()) is None


@pytest.mark.parametrize(
    ("asked", "does"), [("12.1.1", True), ("12.1.1.post0", True), ("12.0.0", False), ("latest", False)]
)
def test_a_prebuilt_wheel_matches_the_version_it_was_built_from(asked: str, *, does: bool) -> None:
    taken = changed(receipt(), {"source_version": "12.1.1+simd.v3"})
    found = explain_needed_setup(healthy_facts(), recipe(), changed(request(), {"version": asked}), taken)
    assert (found is None) is does


@pytest.mark.parametrize(
    ("asked", "levels", "reason"),
    [
        ({}, ["x86-64-v2", "x86-64-v3"], None),
        ({}, ["x86-64-v2", "x86-64-v3", "x86-64-v4"], None),
        ({}, ["x86-64-v2"], "levels x86-64-v2 and x86-64-v3 suit this CPU and request; installed: x86-64-v2"),
        ({}, ["x86-64-v3", "x86-64-v4"], None),
        ({"levels": ["x86-64-v3", "x86-64-v2"]}, ["x86-64-v2", "x86-64-v3"], None),
        ({"levels": ["x86-64-v2", "x86-64-v3"]}, ["x86-64-v3"], "levels x86-64-v2 and x86-64-v3 suit"),
        (
            {"level": "x86-64-v3"},
            ["x86-64-v2", "x86-64-v3"],
            "level x86-64-v3 suits this CPU and request; installed: x86-64-v2",
        ),
    ],
)
def test_named_levels_must_match_and_others_must_suit_the_cpu(
    asked: dict[str, Any], levels: list[str], reason: str | None
) -> None:
    found = explain_needed_setup(
        healthy_facts(), recipe(), changed(request(), asked), changed(receipt(), {"levels": levels})
    )
    assert found is None if reason is None else reason in (found or "")


def test_a_guard_that_nobody_wants_is_not_missed() -> None:
    facts = changed(healthy_facts(), {"guard": {"installed": False, "problems": ["missing"]}})
    assert explain_needed_setup(facts, recipe(), changed(request(), {"guard": False}), receipt()) is None


def test_untouched_conda_packages_satisfy_the_request() -> None:
    for asked in ({}, {"engine": "conda"}, {"engine": "rattler"}):
        assert explain_needed_setup(healthy_conda_facts(), recipe(), changed(request(), asked), conda_receipt()) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"packages": {"0": {"version": "13.0.0", "build": "py311_0"}}},
            "conda replaced it with pillow 13.0.0 py311_0",
        ),
        ({"packages": {"0": {"build": "simd_v3_py311_1"}}}, "conda replaced it with pillow 12.1.1 simd_v3_py311_1"),
        ({"packages": {"0": {"name": "pil"}}}, "conda removed it: pillow 12.1.1 simd_v3_py311_0 was installed"),
        ({"packages": {"1": {"name": "other"}}}, "the guard package is missing"),
        ({"channels": ["conda-forge"]}, "its channel is no longer registered for the environment"),
        (
            {"packages": {"1": {"build": "4567def_0"}}},
            "another guard package is installed: fastinstall-guard 1 4567def_0",
        ),
        ({"claims": {"0": {"missing": ["lib/a"]}}}, "files of pillow 12.1.1 simd_v3_py311_0 were changed: lib/a"),
        ({"claims": {"0": {"altered": ["lib/b"]}}}, "files of pillow 12.1.1 simd_v3_py311_0 were changed: lib/b"),
    ],
)
def test_what_conda_has_made_of_it_is_a_reason(changes: dict[str, Any], reason: str) -> None:
    facts = changed(healthy_conda_facts(), {"conda": changes})
    found = explain_needed_setup(facts, recipe(), request(), conda_receipt())
    assert found is not None
    assert reason in found


def test_a_core_that_was_changed_behind_condas_back_is_a_reason(golden: Golden) -> None:
    facts = changed(healthy_conda_facts(), {"stack": {"core": {"sha256": "0" * 64}}})
    golden(explain_needed_setup(facts, recipe(), request(), conda_receipt()))


def test_a_pin_that_is_requested_and_missing_is_a_reason() -> None:
    pinned = changed(request(), {"pin": True})
    assert explain_needed_setup(healthy_conda_facts(), recipe(), pinned, conda_receipt()) == "the pin is missing"
    facts = changed(healthy_conda_facts(), {"conda": {"pins": ["pillow * simd_*"]}})
    assert explain_needed_setup(facts, recipe(), pinned, conda_receipt()) is None


def test_a_guard_package_that_nobody_wants_is_not_missed() -> None:
    facts = changed(healthy_conda_facts(), {"conda": {"packages": {"1": {"name": "other"}}}})
    assert explain_needed_setup(facts, recipe(), changed(request(), {"guard": False}), conda_receipt()) is None


def test_a_wheel_is_no_conda_package_and_the_other_way_round(golden: Golden) -> None:
    by_pip = changed(request(), {"engine": "pip"})
    golden(explain_needed_setup(healthy_conda_facts(), recipe(), by_pip, conda_receipt()), "conda packages")
    wheel = changed(conda_receipt(), {"engine": "pip", "conda": None})
    golden(explain_needed_setup(healthy_conda_facts(), recipe(), request(), wheel), "a wheel")
    assert explain_needed_setup(healthy_conda_facts(), recipe(), by_pip, wheel) is None


def test_a_virtual_environment_asks_for_no_conda_package() -> None:
    assert explain_needed_setup(healthy_facts(), recipe(), changed(request(), {"engine": "pip"}), receipt()) is None


_PIN = {"kind": "pip", "file": "/srv/images/env/pip.conf", "requirement": "pillow==12.1.1+simd.v3"}


@pytest.mark.parametrize(
    ("pins", "requested", "reason"),
    [
        ([], False, None),
        ([], True, "the pin is missing"),
        ([_PIN], True, None),
        ([_PIN], False, None),
        ([{**_PIN, "problems": ["the wheel is gone"]}], False, "the pin: the wheel is gone"),
    ],
)
def test_a_pin_must_exist_if_requested_and_be_whole_if_present(
    pins: list[dict[str, Any]], *, requested: bool, reason: str | None
) -> None:
    facts = changed(healthy_facts(), {"pins": pins})
    assert explain_needed_setup(facts, recipe(), changed(request(), {"pin": requested}), receipt()) == reason
