"""Which hosts a finished wheel runs on, by its platform tags."""

import pytest
from support.suite.golden import Golden
from support.values.fleet_cases import NOW, facts_document

from fastinstall.core.directories import recipes_directory
from fastinstall.fleet.fleet import Cause, Fleet
from fastinstall.fleet.hosts import FleetHost, read_host_facts
from fastinstall.fleet.wheel_choice import find_oldest_glibc, plan_fleet, select_reachable_hosts
from fastinstall.model.request import Request
from fastinstall.observe.recipes import load_recipe


@pytest.mark.parametrize(
    ("platforms", "needed"),
    [
        (("manylinux_2_27_x86_64", "manylinux_2_28_x86_64"), "2.27"),
        (("manylinux_2_9_x86_64", "manylinux_2_28_x86_64"), "2.9"),
        (("linux_x86_64",), ""),
        ((), ""),
    ],
)
def test_a_wheel_needs_the_oldest_glibc_that_it_names(platforms: tuple[str, ...], needed: str) -> None:
    assert find_oldest_glibc(platforms) == needed


def _fleet(glibcs: dict[str, str]) -> Fleet:
    hosts = [read_host_facts(facts_document(name, {"glibc": glibc})) for name, glibc in glibcs.items()]
    recipe = load_recipe("pillow-fast", (recipes_directory(),))
    return plan_fleet([each for each in hosts if isinstance(each, FleetHost)], (), recipe, Request(), now=NOW)


def test_only_a_host_with_an_older_glibc_is_left_out_of_a_wheel(golden: Golden) -> None:
    fleet = select_reachable_hosts(
        _fleet({"old": "2.9", "edge": "2.27", "later": "2.36", "untold": ""}), {"cp311-v3": "2.27"}
    )
    assert [artefact.hosts for artefact in fleet.artefacts] == [("edge", "later", "untold")]
    assert [(each.host, each.cause) for each in fleet.left_out] == [("old", Cause.MINIMUM_GLIBC)]
    assert sorted(name for group in fleet.groups for name in group.hosts) == ["edge", "later", "untold"]
    golden(f"{fleet.summary}\n{fleet.left_out[0].reason}")


@pytest.mark.parametrize("needed", [{"cp311-v3": "2.27"}, {"cp311-v3": ""}, {}])
def test_where_all_are_within_reach_nothing_changes(needed: dict[str, str]) -> None:
    fleet = _fleet({"a": "2.36"})
    assert select_reachable_hosts(fleet, needed) == fleet
