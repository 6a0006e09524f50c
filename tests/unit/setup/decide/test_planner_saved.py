"""Saved plans from untrusted sources: possible content is accepted; impossible content is refused, naming its key."""

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.values.plans import plan_of

from fastinstall.core.codec import decode, encode
from fastinstall.core.errors import RefusedError
from fastinstall.model.request import Risk
from fastinstall.setup.plan import (
    Plan,
    Situation,
    allow_risks,
    find_differences,
    list_fetched_artefacts,
    select_named_releases,
)

CASES = sorted((Path(__file__).parents[3] / "cases" / "plans").glob("*.json"))
# The planner's test defines how the keys of a case become a situation.
_situation = importlib.import_module("test_planner")._situation


def _planned(name: str) -> tuple[Plan, Situation]:
    case = json.loads(next(path for path in CASES if path.stem == name).read_text("utf-8"))
    situation = _situation(case)
    return plan_of(situation, case.get("cached", "")), situation


def _anew(plan: Plan, situation: Situation) -> Plan:
    """Return a plan made anew from the releases that a saved plan names."""
    cached = plan.build.cached if plan.build is not None else ""
    return plan_of(replace(situation, releases=select_named_releases(plan, situation.releases)), cached)


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("build", {"recipe": "other"}),
    ("build", {"distribution": "requests"}),
    ("build", {"version": "1/../../x"}),
    ("build", {"libraries": ["../x"]}),
    ("build", {"left_out": ["x"]}),
    ("build", {"source": {"name": "evil"}}),
    ("build", {"base_wheel": {"name": "evil"}}),
    ("swap", {"removes": ["../../home"]}),
    ("swap", {"entries": ["/etc"]}),
    ("swap", {"installs": ".."}),
    ("swap", {"records": ["../x"]}),
]


def _with(plan: Plan, kind: str, changes: dict[str, Any]) -> Plan:
    data = encode(plan)
    step = data[kind]
    for name, value in changes.items():
        step[name] = {**step[name], **value} if isinstance(value, dict) else value
    return decode(Plan, data, file="plan.json")


@pytest.mark.parametrize(("kind", "changes"), HOSTILE)
def test_what_no_plan_of_ours_would_say_is_refused_by_its_key(kind: str, changes: dict[str, Any]) -> None:
    plan, situation = _planned("stock-of-the-same-version")
    altered = _with(plan, kind, changes)
    found = list(find_differences(altered, _anew(altered, situation)))
    assert found
    assert found[0][0].startswith(f"{kind}.")
    assert next(iter(changes)) in found[0][0]


def test_another_address_of_a_file_is_not_taken() -> None:
    plan, situation = _planned("stock-of-the-same-version")
    altered = _with(plan, "build", {"base_wheel": {"url": "ftp://x/y"}})
    assert encode(_anew(altered, situation)) == encode(plan)


@pytest.mark.parametrize("flag", ["-fplugin=/tmp/x.so", "-B/tmp", "@/tmp/x", "-march=x86-64-v4", "-O0"])
@pytest.mark.parametrize("field", ["cflags", "ldflags"])
def test_flags_of_a_plan_are_those_of_its_recipe(field: str, flag: str) -> None:
    plan, situation = _planned("stock-of-the-same-version")
    data = encode(plan)
    data["build"]["targets"][0][field].append(flag)
    altered = decode(Plan, data, file="plan.json")
    ((key, problem),) = find_differences(altered, _anew(altered, situation))
    assert f"targets[0].{field}" in key
    assert problem


def test_packages_of_the_system_are_names() -> None:
    plan, situation = _planned("compiler-missing-with-system-deps")
    data = encode(plan)
    (step,) = data["prepare"]
    for name in ("-oDpkg::Pre-Invoke::=id", "./x.deb", "gcc-", "gcc;id", "--purge", ""):
        step["packages"] = ["gcc", name]
        altered = decode(Plan, data, file="plan.json")
        ((key, _),) = find_differences(altered, _anew(altered, situation))
        assert key.startswith("prepare[0].packages")


def test_every_fetched_file_is_listed_with_address_and_hash() -> None:
    plan, _ = _planned("stock-of-the-same-version")
    told = list_fetched_artefacts(plan)
    assert any("pillow-" in line and " from " in line and "sha256" in line for line in told)


def test_every_plan_of_ours_is_decided_again_as_it_was() -> None:
    for path in CASES:
        case = json.loads(path.read_text("utf-8"))
        if "refusal" in case:
            continue
        situation = _situation(case)
        plan = plan_of(situation, case.get("cached", ""))
        if plan.steps:
            assert list(find_differences(plan, _anew(plan, situation))) == [], path.stem


HARMLESS = {"risk": "feature-loss", "summary": "x", "items": []}
FORGED: list[tuple[str, str, dict[str, Any]]] = [
    ("downgrade", "risks", {"risks": []}),
    ("downgrade", "risks[0].risk", {"risks": [HARMLESS, HARMLESS]}),
    ("vulnerable-allowed", "risks", {"risks": []}),
    ("advisories-of-the-version", "warnings", {"warnings": []}),
    ("downgrade", "summary", {"summary": "nothing to do"}),
    ("downgrade", "build", {"build": None}),
    ("downgrade", "skipped", {"skipped": []}),
    ("conda-solver-downgrades", "risks", {"risks": []}),
]


@pytest.mark.parametrize(("case", "key", "changes"), FORGED)
def test_what_a_plan_is_judged_by_is_not_its_own_word(case: str, key: str, changes: dict[str, Any]) -> None:
    plan, situation = _planned(case)
    forged = decode(Plan, {**encode(plan), **changes}, file="plan.json")
    (first, problem), *_ = find_differences(forged, _anew(plan, situation))
    assert first.startswith(key)
    assert problem


def _every_field(data: Any, key: str = "") -> list[str]:
    if isinstance(data, dict):
        return [each for name, value in data.items() for each in _every_field(value, f"{key}.{name}" if key else name)]
    if isinstance(data, list) and data:
        return [each for index, value in enumerate(data) for each in _every_field(value, f"{key}[{index}]")]
    return [key]


UNJUDGED = (
    "facts_digest",
    ".reason",
    ".jobs",
    ".url",
    ".size",
    ".provenance",
    ".index",
    ".mirrors",
    ".allow",
    ".allowed",
    ".python",
)


def test_every_field_of_a_plan_is_compared_or_listed_as_exempt() -> None:
    plan, situation = _planned("downgrade")
    anew, data = encode(_anew(plan, situation)), encode(plan)
    judged = 0
    for key in _every_field(data):
        forged = json.loads(json.dumps(data))
        holder, last = forged, ""
        for word in key.replace("[", ".").replace("]", "").split("."):
            holder, last = (holder[int(last) if last.isdigit() else last] if last else holder), word
        holder[int(last) if last.isdigit() else last] = "forged"
        found = list(importlib.import_module("fastinstall.setup.plan")._compare_values(forged, anew, ""))
        assert bool(found) is not key.endswith(UNJUDGED), key
        judged += bool(found)
    assert judged > 40


def test_a_file_that_is_not_on_offer_with_that_hash_is_refused() -> None:
    plan, situation = _planned("stock-of-the-same-version")
    other = _with(plan, "build", {"source": {"sha256": "0" * 64}})
    with pytest.raises(RefusedError, match="sha256 0000") as refused:
        select_named_releases(other, situation.releases)
    assert (refused.value.hint or "").endswith(": fastinstall plan -o FILE")


def test_later_releases_make_no_other_plan() -> None:
    plan, situation = _planned("stock-of-the-same-version")
    releases = situation.releases
    source = releases.sources[0]
    later = replace(source, version="99.0.0", filename="pillow-99.0.0.tar.gz", sha256="9" * 64)
    offered = replace(situation, releases=replace(releases, sources=(later, *releases.sources)))
    assert list(find_differences(plan, _anew(plan, offered))) == []


def test_a_plan_allows_itself_nothing() -> None:
    plan, _ = _planned("downgrade-allowed")
    assert all(plan_risk.allowed for plan_risk in plan.risks)
    assert not any(plan_risk.allowed for plan_risk in allow_risks(plan, ()).risks)
    mine = allow_risks(plan, (Risk.DOWNGRADE, Risk.VULNERABLE))
    assert all(plan_risk.allowed for plan_risk in mine.risks)
    assert mine.request.allow == (Risk.DOWNGRADE, Risk.VULNERABLE)
