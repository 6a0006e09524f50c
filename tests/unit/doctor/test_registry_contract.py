"""The contract of every check."""

import inspect
import re
import shlex
from datetime import date
from pathlib import Path

import pytest
from render_documents import render_checks
from support.conda.checked_environments import conda_facts, ours_in_conda_facts, ours_in_conda_receipt
from support.docs.pasteable import assert_can_be_pasted
from support.values.builders import empty_facts, environment, healthy_facts, minimal_facts, receipt, recipe, stock_facts

from fastinstall.doctor import registry
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.registry import CHECKS, check_names, run_checks, verifying_checks
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Status
from fastinstall.model.receipt import Receipt

PAGE = Path(__file__).parents[3] / "docs/reference/checks.md"
PROGRAMS = ("fastinstall", "uv", "conda", "/srv/images/env/bin/python")
UNNAMED = {"conda-records": Status.SKIPPED}
"""Checks that report nothing for environments without conda."""
SITUATIONS = {
    "healthy": (healthy_facts, receipt()),
    "swapped": (stock_facts, receipt()),
    "stock": (stock_facts, None),
    "empty": (empty_facts, None),
    "uninstalled": (empty_facts, receipt()),
    "minimal": (minimal_facts, None),
    "minimal with a receipt": (minimal_facts, receipt()),
    "conda": (conda_facts, None),
    "conda with our packages": (ours_in_conda_facts, ours_in_conda_receipt()),
    "conda with our packages replaced": (conda_facts, ours_in_conda_receipt()),
    "conda with a wheel of ours": (conda_facts, receipt()),
}


def context(facts: Facts, left: Receipt | None) -> CheckContext:
    return CheckContext(facts=facts, receipt=left, recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0")


def files_of_checks() -> set[str]:
    folder = Path(inspect.getfile(registry)).parent / "checks"
    return {path.stem.replace("_", "-") for path in folder.glob("[!_]*.py")}


@pytest.mark.parametrize("name", check_names())
def test_a_check_introduces_itself(name: str) -> None:
    module = CHECKS[name].module
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert re.fullmatch(r"[A-Z][^.]*\.", CHECKS[name].summary)
    assert list(inspect.signature(module.check).parameters) == ["context"]
    assert "\n\n" in (module.__doc__ or "")


@pytest.mark.parametrize("name", check_names())
def test_a_check_says_what_it_finds_why_it_matters_and_its_fix(name: str) -> None:
    page = render_checks({name: "an example"}).partition(f"\n## {name}\n\n")[2].partition("\n## ")[0]
    assert CHECKS[name].summary in page
    assert "```text\nan example\n```" in page
    for part in ("Why it matters", "How to fix it"):
        assert re.search(rf"^\*\*{part}\.\*\* \S", page, re.MULTILINE), f"no {part!r} in the docstring of {name}"
    statuses = re.findall(r"^- (\w+): ", page, re.MULTILINE)
    assert set(statuses) <= {"error", "warning", "hint", "unknown"}
    assert statuses


def test_every_file_is_a_check() -> None:
    assert set(CHECKS) == files_of_checks()


def test_setup_is_verified_by_the_checks_of_the_stack_itself() -> None:
    assert {"pillow-importable", "pillow-owner", "simd-active", "operations", "swapped"} <= set(verifying_checks())
    assert not {"cuda", "data-loading", "advisories", "guards"} & set(verifying_checks())
    assert not CHECKS["cuda"].setup_repairs


@pytest.mark.parametrize("name", check_names())
def test_a_check_has_its_section(name: str) -> None:
    assert f"\n## {name}\n" in PAGE.read_text(encoding="utf-8"), "run docs/reference/write_reference.py"


@pytest.mark.parametrize("name", check_names())
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_check_speaks_in_every_situation(name: str, situation: str) -> None:
    facts, left = SITUATIONS[situation]
    findings = run_checks(context(facts(), left), (name,))
    assert findings
    for finding in findings:
        assert_valid(finding, name)


def assert_valid(finding: Finding, name: str) -> None:
    assert finding.check == name
    assert finding.status is not Status.CRASHED, finding.message
    assert finding.message
    assert not finding.message.endswith(".")
    assert "\n" not in finding.message
    assert all(finding.evidence)
    assert finding.link == f"docs/reference/checks.md#{name}"
    if finding.remedy is not None:
        assert finding.remedy.text
        assert finding.remedy.command is None or shlex.split(finding.remedy.command)[0] in PROGRAMS
    if finding.status is Status.ERROR:
        assert finding.remedy is not None, "an error without a way out"
    if finding.status.gravity >= Status.WARNING.gravity:
        assert finding.verify, "a verdict that nobody can verify"
    if finding.verify:
        assert_can_be_pasted(finding.verify, environment())


def test_all_is_well_where_a_setup_left_it() -> None:
    findings = run_checks(context(healthy_facts(), receipt()))
    assert {finding.check: finding.status for finding in findings} == dict.fromkeys(check_names(), Status.OK) | UNNAMED
    assert [finding.check for finding in findings] == list(check_names())


def test_all_is_well_in_a_conda_environment_with_our_packages() -> None:
    findings = run_checks(context(ours_in_conda_facts(), ours_in_conda_receipt()))
    assert {finding.status for finding in findings} == {Status.OK}
    assert all(finding.verify for finding in findings)


def test_what_is_well_can_be_verified_too() -> None:
    findings = run_checks(context(healthy_facts(), receipt()))
    assert {finding.check for finding in findings if not finding.verify} == set(UNNAMED)


def test_the_page_begins_with_a_link_to_each_check() -> None:
    links = re.findall(r"^- \[[\w-]+\]\(#([\w-]+)\)", render_checks({}), re.MULTILINE)
    assert links == list(check_names())
