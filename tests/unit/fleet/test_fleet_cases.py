"""Each file of tests/cases/fleet: hosts, and the few wheels that serve them (see support/values/fleet_cases.py)."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.values.fleet_cases import NOW, facts_document

from fastinstall.core.codec import decode, encode
from fastinstall.core.directories import recipes_directory
from fastinstall.fleet.fleet import Fleet
from fastinstall.fleet.hosts import FleetHost, read_host_facts
from fastinstall.fleet.wheel_choice import plan_fleet
from fastinstall.model.request import Request
from fastinstall.observe.recipes import load_recipe

_CASES = Path(__file__).parents[2] / "cases" / "fleet"


def _planned(case: dict[str, Any]) -> Fleet:
    documents = [facts_document(name, host) for name, host in case["hosts"].items()]
    hosts = [host for host in map(read_host_facts, documents) if isinstance(host, FleetHost)]
    request = decode(Request, case.get("request", {}), file="case")
    recipe = load_recipe(request.recipe, (recipes_directory(),))
    return plan_fleet(hosts, (), recipe, request, now=NOW, max_age=case.get("max_age"))


@pytest.mark.parametrize("path", sorted(_CASES.glob("*.json")), ids=lambda path: path.stem)
def test_few_wheels_serve_all_hosts_that_can_be_served(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    fleet = _planned(case)
    _assert_told(encode(fleet.artefacts), case["artefacts"])
    _assert_told(encode(fleet.left_out), case["left_out"])
    assert len(fleet.notes) == len(case["notes"]), fleet.notes
    for note, wanted in zip(fleet.notes, case["notes"], strict=True):
        assert wanted in note
    if "groups" in case:
        assert sorted(case["groups"], key=_names) == sorted(
            ({key: item for key, item in encode(group).items() if key in case["groups"][0]} for group in fleet.groups),
            key=_names,
        )


@pytest.mark.parametrize("path", sorted(_CASES.glob("*.json")), ids=lambda path: path.stem)
def test_each_host_appears_once_whatever_the_document_order(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    fleet = _planned(case)
    told = [name for artefact in fleet.artefacts for name in artefact.hosts] + [each.host for each in fleet.left_out]
    assert sorted(told) == sorted({host.get("host", name) for name, host in case["hosts"].items()})
    assert sorted(name for group in fleet.groups for name in group.hosts) == sorted(
        name for artefact in fleet.artefacts for name in artefact.hosts
    )
    assert _planned({**case, "hosts": dict(reversed(case["hosts"].items()))}) == fleet


def _names(group: dict[str, Any]) -> list[str]:
    names: list[str] = group["hosts"]
    return names


def _assert_told(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Assert that parts of a fleet have the expected values; a reason or hint need only contain the expected words."""
    assert len(found) == len(wanted), found
    for each, expected in zip(found, wanted, strict=True):
        for key, item in expected.items():
            if key in {"reason", "hint"}:
                assert item in each[key], each
            else:
                assert each[key] == item, each
