"""Why another Pillow has replaced ours: who requested it, its version, and which packages require it."""

from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import (
    changed,
    conda_receipt,
    empty_facts,
    healthy_conda_facts,
    healthy_facts,
    receipt,
    stock_facts,
)

from fastinstall.core.codec import encode
from fastinstall.doctor.intent import InstallRequest, Intent, VersionOrder, intent_of
from fastinstall.model.facts import Facts


def _swapped(version: str, *, tool: str = "pip", requested: bool = False, requires: tuple[str, ...] = ()) -> Facts:
    installed = {"version": version, "metadata": f"pillow-{version}.dist-info", "installer": tool}
    distribution = {**installed, "requested": requested}
    dependants = [{"name": "imageio", "requirement": requirement} for requirement in requires]
    stack: dict[str, Any] = {"version": version, "owners": {"0": {"distribution": distribution}}}
    return changed(stock_facts(), {"stack": {**stack, "dependants": dependants}})


def _intent(facts: Facts) -> Intent:
    found = intent_of(facts, receipt())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("tool", "requested", "asked"),
    [
        ("pip", True, InstallRequest.BY_NAME),
        ("pip", False, InstallRequest.ALONG),
        ("pdm", True, InstallRequest.BY_NAME),
        ("pdm", False, InstallRequest.ALONG),
        ("uv", True, InstallRequest.UNTOLD),
        ("Poetry 2.5.1", False, InstallRequest.UNTOLD),
        ("conda", True, InstallRequest.UNTOLD),
        ("", False, InstallRequest.UNTOLD),
    ],
)
def test_only_some_tools_record_if_a_distribution_was_requested(
    tool: str, asked: InstallRequest, *, requested: bool
) -> None:
    assert _intent(_swapped("14.0.0", tool=tool, requested=requested)).asked is asked


@pytest.mark.parametrize(
    ("version", "requested", "order", "kept"),
    [
        ("14.0.0", True, VersionOrder.LATER, True),
        ("14.0.0", False, VersionOrder.LATER, False),
        ("12.1.1", True, VersionOrder.SAME, False),
        ("12.1.1.post3", True, VersionOrder.SAME, False),
        ("11.3.0", True, VersionOrder.EARLIER, False),
    ],
)
def test_a_later_version_that_was_asked_for_is_kept(
    version: str, order: VersionOrder, *, requested: bool, kept: bool
) -> None:
    found = _intent(_swapped(version, requested=requested))
    assert (found.order, found.is_kept) == (order, kept)


def test_a_later_version_is_kept_where_the_tool_does_not_tell(golden: Golden) -> None:
    found = _intent(_swapped("14.0.0", tool="uv", requested=True))
    assert found.is_kept
    assert (found.tool, found.version, found.asked) == ("uv", "14.0.0", InstallRequest.UNTOLD)
    golden(found.story)


def test_a_pillow_is_kept_if_a_dependent_requires_it_over_ours() -> None:
    later = _intent(_swapped("14.0.0", requires=("pillow>=13", "pillow>=13", "pillow>=9")))
    assert (later.is_kept, later.unmet) == (True, ("imageio requires pillow>=13",))
    assert _intent(_swapped("11.3.0", requires=("pillow<12",))).is_kept
    assert not _intent(_swapped("14.0.0", requires=("pillow<12",))).is_kept, "neither of the two meets it"


@pytest.mark.parametrize("facts", [healthy_facts(), empty_facts(), changed(stock_facts(), {"stack": {"owners": []}})])
def test_where_nobody_put_another_one_there_nothing_was_meant(facts: Facts) -> None:
    assert intent_of(facts, receipt()) is None


def test_a_version_that_cannot_be_compared_means_nothing() -> None:
    assert intent_of(_swapped("of-my-own", requested=True), receipt()) is None


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("/opt/conda/bin/conda install --yes pillow=13", InstallRequest.BY_NAME),
        ("/opt/conda/bin/conda install --yes conda-forge::pillow>=13", InstallRequest.BY_NAME),
        ("/opt/conda/bin/conda install --yes viewer", InstallRequest.ALONG),
        ("", InstallRequest.UNTOLD),
    ],
)
def test_conda_tells_by_the_command_in_its_history(command: str, asked: InstallRequest) -> None:
    facts = healthy_conda_facts()
    assert facts.conda is not None
    ours, *others = facts.conda.packages
    theirs = {**encode(ours), "version": "13.0.0", "build": "py311h1234567_0"}
    linked = "pillow-13.0.0-py311h1234567_0"
    revision = {"number": 3, "at": "2026-11-21 12:30:00", "command": command, "linked": [linked], "unlinked": []}
    changes = {"packages": [theirs, *map(encode, others)], "revisions": [revision]}
    swapped = changed(facts, {"conda": changes, "stack": {"core": {"sha256": "0" * 64}}})
    found = intent_of(swapped, conda_receipt())
    assert found is not None
    assert (found.tool, found.version, found.order, found.asked) == ("conda", "13.0.0", VersionOrder.LATER, asked)


def test_what_a_conda_package_requires_is_kept_too() -> None:
    facts = healthy_conda_facts()
    assert facts.conda is not None
    ours, *others = facts.conda.packages
    theirs = {**encode(ours), "version": "13.0.0", "build": "py311h1234567_0"}
    viewer = {**encode(others[0]), "name": "viewer", "version": "2.0", "depends": ["pillow >=13"]}
    changes = {"packages": [theirs, viewer, *map(encode, others)]}
    found = intent_of(changed(facts, {"conda": changes, "stack": {"core": {"sha256": "0" * 64}}}), conda_receipt())
    assert found is not None
    assert (found.unmet, found.is_kept) == (("viewer 2.0 requires pillow>=13",), True)


def test_requirements_the_current_pillow_breaks_are_listed_apart() -> None:
    found = _intent(_swapped("11.3.0", requested=True, requires=("pillow>=12", "pillow>=14")))
    assert (found.unmet, len(found.broken)) == ((), 2)
