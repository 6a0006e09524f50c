"""Each file of tests/cases/checks: an environment, and what doctor must say about it.

Keys: `describes`; `base` (healthy, levelled, stock, empty, minimal); `facts`, `receipt`, `recipe`: changes in
the form of `builders.changed` (`receipt: null`: there is none; left out: the one of the base, if it has one);
`expected`: findings that must be there. No other finding may be a warning or an error.
"""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from builders import (
    changed,
    empty_facts,
    healthy_facts,
    levelled_facts,
    levelled_receipt,
    minimal_facts,
    receipt,
    recipe,
    stock_facts,
)

from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Status
from fastinstall.model.receipt import Receipt
from fastinstall.rules.checks import CheckContext, run_checks

CASES = Path(__file__).parents[2] / "cases" / "checks"
BASES: dict[str, Callable[[], Facts]] = {
    "healthy": healthy_facts,
    "levelled": levelled_facts,
    "stock": stock_facts,
    "empty": empty_facts,
    "minimal": minimal_facts,
}
RECEIPTS: dict[str, Callable[[], Receipt]] = {"healthy": receipt, "levelled": levelled_receipt}


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_a_state_is_named_in_the_right_words_and_nothing_else_is_blamed(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    assert set(case) <= {"describes", "base", "facts", "receipt", "recipe", "today", "expected"}
    findings = run_checks(_context(case))
    for wanted in case["expected"]:
        assert any(_fits(finding, wanted) for finding in findings), _explain(wanted, findings)
    blamed = (finding for finding in findings if finding.status.gravity >= Status.WARNING.gravity)
    for finding in blamed:
        assert any(_fits(finding, wanted) for wanted in case["expected"]), _explain(case["expected"], (finding,))


def _context(case: dict[str, Any]) -> CheckContext:
    base = case.get("base", "healthy")
    return CheckContext(
        facts=changed(BASES[base](), case.get("facts", {})),
        receipt=_receipt(base, case.get("receipt", {} if base in RECEIPTS else None)),
        recipe=changed(recipe(), case.get("recipe", {})),
        today=date.fromisoformat(case.get("today", "2026-11-22")),
        tool_version="0.1.0",
    )


def _receipt(base: str, changes: dict[str, Any] | None) -> Receipt | None:
    return None if changes is None else changed(RECEIPTS.get(base, receipt)(), changes)


def _fits(finding: Finding, wanted: dict[str, Any]) -> bool:
    assert set(wanted) <= {"check", "status", "message", "evidence", "command"}
    command = (finding.remedy.command if finding.remedy is not None else None) or ""
    return (
        finding.check == wanted["check"]
        and finding.status == wanted["status"]
        and wanted.get("message", "") in finding.message
        and wanted.get("evidence", "") in "\n".join(finding.evidence)
        and wanted.get("command", "") in command
    )


def _explain(wanted: object, findings: tuple[Finding, ...]) -> str:
    heard = "\n".join(f"{finding.check} {finding.status}: {finding.message} {finding.evidence}" for finding in findings)
    return f"expected {wanted}\nheard:\n{heard}"
