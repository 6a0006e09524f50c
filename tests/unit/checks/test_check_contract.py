"""What every check promises, whichever it is."""

import inspect
import re
import shlex
from datetime import date
from pathlib import Path

import pytest
from builders import empty_facts, healthy_facts, minimal_facts, receipt, recipe, stock_facts

from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Status
from fastinstall.model.receipt import Receipt
from fastinstall.rules import checks
from fastinstall.rules.checks import ORDER, CheckContext, check_names, load_check, render_reference, run_checks

PROGRAMS = ("fastinstall", "uv", "conda", "/srv/images/env/bin/python")
SITUATIONS = {
    "healthy": (healthy_facts, receipt()),
    "swapped": (stock_facts, receipt()),
    "stock": (stock_facts, None),
    "empty": (empty_facts, None),
    "uninstalled": (empty_facts, receipt()),
    "minimal": (minimal_facts, None),
    "minimal with a receipt": (minimal_facts, receipt()),
}


def context(facts: Facts, left: Receipt | None) -> CheckContext:
    return CheckContext(facts=facts, receipt=left, recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0")


def files_of_checks() -> set[str]:
    folder = Path(inspect.getfile(checks)).parent
    return {path.stem.replace("_", "-") for path in folder.glob("[!_]*.py")}


@pytest.mark.parametrize("name", check_names())
def test_a_check_introduces_itself(name: str) -> None:
    module = load_check(name)
    assert name == module.NAME
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", module.NAME)
    assert re.fullmatch(r"[A-Z][^.]*\.", module.SUMMARY)
    assert isinstance(module.NEEDS_RUNTIME, bool)
    assert list(inspect.signature(module.check).parameters) == ["context"]
    assert "\n\n" in (module.__doc__ or "")


def test_every_file_is_a_check_and_has_its_place_in_the_order() -> None:
    names = check_names()
    assert set(names) == files_of_checks()
    assert list(names) == [name for name in ORDER if name in names]


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


def test_all_is_well_where_a_setup_left_it() -> None:
    findings = run_checks(context(healthy_facts(), receipt()))
    assert {finding.status for finding in findings} == {Status.OK}
    assert [finding.check for finding in findings] == list(check_names())


def test_the_page_that_findings_link_to_has_a_heading_for_each_check() -> None:
    text = render_reference()
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == list(check_names())
