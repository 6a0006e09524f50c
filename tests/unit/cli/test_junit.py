"""JUnit XML of doctor has the structure that Jenkins' xunit plugin expects (its schema junit-10.xsd)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePath
from xml.etree import ElementTree as ET

import pytest
from support.values.builders import healthy_facts

from fastinstall.cli.text.junit import junit_xml
from fastinstall.doctor.registry import select_gravest_status
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status, Unobservable

AT = datetime(2026, 11, 21, 10, 40, 7, 999, tzinfo=UTC)
ATTRIBUTES = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "timestamp", "time", "hostname", "id", "package", "file"},
        {"name", "tests", "failures", "errors"},
    ),
    "testcase": ({"name", "time", "classname", "group"}, {"name"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
"""By element: those that the schema allows, and those that it requires."""
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase", "properties", "system-out", "system-err"},
    "testcase": {"skipped", "error", "failure", "system-out", "system-err"},
}


def _finding(check: str, status: Status, message: str = "") -> Finding:
    remedy = Remedy(text="put it back", command="fastinstall doctor --fix") if status.gravity else None
    said = message or f"{check} is {status}"
    return Finding(check=check, status=status, message=said, evidence=("a <file> & more",), remedy=remedy)


def _report(prefix: str, *findings: Finding) -> EnvironmentReport:
    environment = replace(healthy_facts().environment, prefix=PurePath(prefix))
    return EnvironmentReport(
        environment=environment, status=select_gravest_status([each.status for each in findings]), findings=findings
    )


REPORT = _report("/srv/env-3.11", *(_finding(f"check-{status}", status) for status in Status))


def _parsed(
    *reports: EnvironmentReport, least: Status = Status.ERROR, unobservable: Sequence[Unobservable] = ()
) -> ET.Element:
    text = junit_xml(reports, unobservable, least, AT)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    return ET.fromstring(text.encode())  # noqa: S314 (of our own making)


def _outcomes(root: ET.Element) -> dict[str, str]:
    return {
        str(case.get("name")): next((child.tag for child in case if child.tag != "system-out"), "passed")
        for case in root.iter("testcase")
    }


@pytest.mark.parametrize("least", [Status.ERROR, Status.WARNING])
def test_elements_and_attributes_are_those_of_the_schema(least: Status) -> None:
    gone = Unobservable(prefix=PurePath("/srv/old"), problem="its Python is gone")
    root = _parsed(REPORT, _report("/srv/b"), least=least, unobservable=[gone])
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed, required = ATTRIBUTES[element.tag]
        assert required <= set(element.keys()) <= allowed
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert all(value.isdigit() for key, value in element.items() if key in ("tests", "failures", "errors"))


def test_statuses_become_outcomes_as_the_exit_code_counts_them() -> None:
    assert _outcomes(_parsed(REPORT)) == {
        "check-ok": "passed",
        "check-hint": "passed",
        "check-warning": "passed",
        "check-error": "failure",
        "check-skipped": "skipped",
        "check-unknown": "skipped",
        "check-crashed": "error",
    }
    stricter = _outcomes(_parsed(REPORT, least=Status.WARNING))
    assert (stricter["check-warning"], stricter["check-unknown"]) == ("failure", "error")


def test_counts_are_those_of_the_cases() -> None:
    root = _parsed(REPORT, REPORT)
    assert dict(root.items()) == {"name": "fastinstall doctor", "tests": "14", "failures": "2", "errors": "2"}
    suite = root[0]
    assert [suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")] == [
        "/srv/env-3.11",
        "7",
        "1",
        "1",
        "2",
    ]


def test_a_suite_has_the_time_and_no_name_of_a_host() -> None:
    suite = _parsed(REPORT)[0]
    assert suite.get("timestamp") == "2026-11-21T10:40:07"
    assert suite.get("hostname") is None
    assert {case.get("classname") for case in suite} == {"doctor /srv/env-3_11"}


def test_a_failure_says_what_why_and_what_to_do() -> None:
    (failure,) = _parsed(REPORT).iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("error", "check-error is error")
    head, *others = [line.strip() for line in (failure.text or "").splitlines()]
    assert head.split()[:2] == ["error", "check-error"]
    assert others == ["a <file> & more", "hint: put it back", "fastinstall doctor --fix"]
    told = {case.get("name"): case.findtext("system-out") for case in _parsed(REPORT).iter("testcase")}
    assert "hint: put it back" in (told["check-warning"] or "")
    assert told["check-ok"] is None


def test_several_findings_of_a_check_are_one_case_and_the_gravest_decides() -> None:
    findings = (_finding("swapped", Status.HINT, "one"), _finding("swapped", Status.ERROR, "two"))
    (case,) = _parsed(_report("/srv/env", *findings)).iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "two"
    assert re.search("hint .* one\n.*error .* two\n", failure.text or "", re.DOTALL)


def test_what_xml_cannot_hold_is_replaced() -> None:
    finding = _finding("swapped", Status.ERROR, "a\x1b[31mb\udcffc\ufffe\U0001f600")
    (failure,) = _parsed(_report("/srv/\x01env", finding)).iter("failure")
    assert failure.get("message") == "a�[31mb�c�\U0001f600"
