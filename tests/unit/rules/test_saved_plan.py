"""Saved plans from others: what a plan of ours may say is accepted, and what none would say is refused by its key."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from fastinstall.model.codec import decode, encode
from fastinstall.model.plan import Plan
from fastinstall.rules.planner import make_plan
from fastinstall.rules.saved_plan import fetched, plan_problems
from fastinstall.rules.situation import Situation

CASES = sorted((Path(__file__).parents[2] / "cases" / "plans").glob("*.json"))
_situation = importlib.import_module("test_planner")._situation  # what a case describes, made in one place


def _planned(name: str) -> tuple[Plan, Situation]:
    case = json.loads(next(path for path in CASES if path.stem == name).read_text("utf-8"))
    situation = _situation(case)
    return make_plan(situation), situation


def test_every_plan_that_we_make_is_one_that_we_carry_out() -> None:
    seen = 0
    for path in CASES:
        case = json.loads(path.read_text("utf-8"))
        if "refusal" in case:
            continue
        situation = _situation(case)
        plan = make_plan(situation)
        assert list(plan_problems(plan, situation.recipe)) == [], path.stem
        seen += bool(plan.steps)
    assert seen


HOSTILE: list[tuple[str, str, dict[str, Any]]] = [
    ("build", "recipe", {"recipe": "other"}),
    ("build", "distribution", {"distribution": "requests"}),
    ("build", "version", {"version": "1/../../x"}),
    ("build", "libraries", {"libraries": ["../x"]}),
    ("build", "without", {"without": ["x"]}),
    ("build", "source", {"source": {"name": "evil"}}),
    ("build", "chassis", {"chassis": {"name": "evil"}}),
    ("build", "filename", {"source": {"filename": "../../x.tar.gz"}}),
    ("build", "pillow", {"chassis": {"url": "ftp://x/y"}}),
    ("swap", "removes", {"removes": ["../../home"]}),
    ("swap", "removes", {"entries": ["/etc"]}),
    ("swap", "removes", {"installs": ".."}),
    ("swap", "removes", {"records": ["../x"]}),
]


def _with(plan: Plan, kind: str, changes: dict[str, Any]) -> Plan:
    data = encode(plan)
    for step in data["steps"]:
        if step["kind"] == kind:
            for name, value in changes.items():
                step[name] = {**step[name], **value} if isinstance(value, dict) else value
    return decode(Plan, data, file="plan.json")


@pytest.mark.parametrize(("kind", "key", "changes"), HOSTILE)
def test_what_no_plan_of_ours_would_say_is_refused_by_its_key(kind: str, key: str, changes: dict[str, Any]) -> None:
    plan, situation = _planned("stock-of-the-same-version")
    found = list(plan_problems(_with(plan, kind, changes), situation.recipe))
    assert found
    assert found[0][0].startswith("steps[")
    assert key in found[0][0]


@pytest.mark.parametrize("flag", ["-fplugin=/tmp/x.so", "-B/tmp", "@/tmp/x", "-march=x86-64-v4", "-O0"])
@pytest.mark.parametrize("field", ["cflags", "ldflags"])
def test_flags_of_a_plan_are_those_of_its_recipe(field: str, flag: str) -> None:
    plan, situation = _planned("stock-of-the-same-version")
    data = encode(plan)
    build = next(step for step in data["steps"] if step["kind"] == "build")
    build["targets"][0][field].append(flag)
    ((key, problem),) = plan_problems(decode(Plan, data, file="plan.json"), situation.recipe)
    assert key.endswith(f"targets[0].{field}")
    assert flag in problem


def test_packages_of_the_system_are_names() -> None:
    plan, situation = _planned("compiler-missing-with-system-deps")
    data = encode(plan)
    step = next(step for step in data["steps"] if step["kind"] == "system-packages")
    for name in ("-oDpkg::Pre-Invoke::=id", "./x.deb", "gcc-", "gcc;id", "--purge", ""):
        step["packages"] = ["gcc", name]
        ((key, _),) = plan_problems(decode(Plan, data, file="plan.json"), situation.recipe)
        assert key.endswith("packages[1]")


def test_everything_that_is_fetched_is_told_with_address_and_hash() -> None:
    plan, _ = _planned("stock-of-the-same-version")
    told = fetched(plan)
    assert any("pillow-" in line and " from " in line and "sha256" in line for line in told)
