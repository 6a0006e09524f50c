"""Each file of tests/cases/checks: an environment, and the findings that doctor must report on it.

The format is in support/values/check_cases.py. Findings that a file does not list must not be warnings or errors.
Every warning and every error must have a command that verifies it.
"""

from pathlib import Path
from typing import Any

import pytest
from support.docs.pasteable import assert_can_be_pasted
from support.values.check_cases import case_files, load_case

from fastinstall.doctor.registry import check_names, run_checks
from fastinstall.model.finding import Finding, Status


@pytest.mark.parametrize("path", case_files(), ids=lambda path: path.stem)
def test_a_state_is_named_correctly_and_nothing_else_is_blamed(path: Path) -> None:
    case = load_case(path)
    findings = run_checks(case.context)
    for wanted in case.expected:
        assert any(_fits(finding, wanted) for finding in findings), _explain(wanted, findings)
    blamed = (finding for finding in findings if finding.status.gravity >= Status.WARNING.gravity)
    for finding in blamed:
        assert any(_fits(finding, wanted) for wanted in case.expected), _explain(case.expected, (finding,))
        assert finding.verify, finding
    for finding in findings:
        if finding.verify:
            assert_can_be_pasted(finding.verify, case.context.facts.environment)


def test_every_check_has_one_case_that_its_page_shows() -> None:
    shown = [case.example_of for case in map(load_case, case_files()) if case.example_of]
    assert sorted(shown) == sorted(check_names())


def _fits(finding: Finding, wanted: dict[str, Any]) -> bool:
    assert set(wanted) <= {"check", "status", "message", "evidence", "remedy", "command", "link", "verify"}
    command = (finding.remedy.command if finding.remedy is not None else None) or ""
    advice = finding.remedy.text if finding.remedy is not None else ""
    return (
        finding.check == wanted["check"]
        and finding.status == wanted["status"]
        and wanted.get("message", "") in finding.message
        and wanted.get("evidence", "") in "\n".join(finding.evidence)
        and wanted.get("link", "") in finding.link
        and wanted.get("remedy", "") in advice
        and (wanted.get("command", "") in command if wanted.get("command", "") is not None else not command)
        and wanted.get("verify", "") in finding.verify
    )


def _explain(wanted: object, findings: tuple[Finding, ...]) -> str:
    heard = "\n".join(f"{finding.check} {finding.status}: {finding.message} {finding.evidence}" for finding in findings)
    return f"expected {wanted}\nheard:\n{heard}"
