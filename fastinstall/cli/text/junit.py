"""Reports of doctor as JUnit XML: a suite for each environment, a case for each check.

| status | in the suite |
|---|---|
| ok, hint, and a warning that is less than what is asked for | passed; a hint or warning stands in system-out |
| warning, error | failure |
| crashed | error |
| unknown | error, or skipped where it is less than what is asked for |
| skipped | skipped |

The name of the host is left out. Source: what continuous integration servers read, as the schema junit-10.xsd of
Jenkins' xunit plugin has it.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from xml.etree import ElementTree as ET

from fastinstall.cli.console import Page
from fastinstall.cli.text.reports import finding_text
from fastinstall.model.finding import EnvironmentReport, Finding, Status, Unobservable

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PASSED = "passed"
_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def junit_xml(
    reports: Sequence[EnvironmentReport], unobservable: Sequence[Unobservable], least: Status, at: datetime
) -> str:
    """Return reports of doctor as JUnit XML.

    Args:
        reports: of the environments that were examined.
        unobservable: those that could not be looked at.
        least: the least grave status that is a failure.
        at: when it was examined.
    """
    root = ET.Element("testsuites", name="fastinstall doctor")
    for report in reports:
        cases = [
            _make_case(list(findings), least) for _, findings in groupby(report.findings, key=lambda each: each.check)
        ]
        root.append(_make_suite(str(report.environment.prefix), cases, at))
    for each in unobservable:
        finding = Finding(check="environment", status=Status.UNKNOWN, message=each.problem)
        root.append(_make_suite(str(each.prefix), [_make_case([finding], least)], at))
    for counted in ("tests", "failures", "errors"):
        root.set(counted, str(sum(int(suite.get(counted, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _make_suite(prefix: str, cases: Sequence[ET.Element], at: datetime) -> ET.Element:
    examined = at.replace(tzinfo=None).isoformat(timespec="seconds")
    suite = ET.Element("testsuite", name=_strip_illegal_characters(prefix), timestamp=examined)
    suite.set("tests", str(len(cases)))
    for tag, counted in _COUNTED.items():
        suite.set(counted, str(sum(case.find(tag) is not None for case in cases)))
    for case in cases:
        # Dots would part a package from a class.
        case.set("classname", f"doctor {_strip_illegal_characters(prefix).replace('.', '_')}")
        suite.append(case)
    return suite


def _make_case(findings: Sequence[Finding], least: Status) -> ET.Element:
    """Return one check as a case; of several findings the gravest one decides, and all of them are told."""
    worst = max(findings, key=lambda each: each.status.gravity)
    case = ET.Element("testcase", name=worst.check)
    outcome = _choose_outcome(worst.status, least)
    told = (finding_text(each, Page(verbose=True)) for each in findings if each.status.gravity or each is worst)
    text = "\n".join(told)
    if outcome == "skipped":
        ET.SubElement(case, outcome, message=_strip_illegal_characters(worst.message))
    elif outcome != _PASSED:
        ET.SubElement(
            case, outcome, type=worst.status.value, message=_strip_illegal_characters(worst.message)
        ).text = _strip_illegal_characters(text)
    elif worst.status.gravity:
        ET.SubElement(case, "system-out").text = _strip_illegal_characters(text)
    return case


def _choose_outcome(status: Status, least: Status) -> str:
    if status is Status.SKIPPED:
        return "skipped"
    if status.gravity < least.gravity:
        return "skipped" if status is Status.UNKNOWN else _PASSED
    return "failure" if status in (Status.WARNING, Status.ERROR) else "error"


def _strip_illegal_characters(text: str) -> str:
    """Return what XML 1.0 can hold: no control characters, and no bytes of a path that are no text."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
