"""The cases in tests/cases/checks: facts of an environment, and the findings that doctor must report.

Keys of a file:
- `describes`: the environment, in a sentence.
- `base`: healthy, levelled, stock, empty, minimal; conda (with conda's own Pillow), conda-of-ours (set up with conda
  packages), conda-swapped (set up, then replaced by conda's own Pillow).
- `facts`, `receipt`, `recipe`: changes of the base, in the form of `builders.changed`. Without `receipt`, a case
  has the receipt of its base, if any; `receipt: null` removes it.
- `hosts`: CPUs of other machines by name, as changes of the base's CPU.
- `today`: the date of the check.
- `expected`: findings that must be reported.
- `example_of`: the check whose section in docs/reference/checks.md shows this case.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from support.conda.checked_environments import conda_facts, ours_in_conda_facts, ours_in_conda_receipt
from support.values.builders import (
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

from fastinstall.doctor.check_context import CheckContext
from fastinstall.elf.cpu import Host
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt

CASES = Path(__file__).parents[2] / "cases" / "checks"
_BASES: dict[str, Callable[[], Facts]] = {
    "healthy": healthy_facts,
    "levelled": levelled_facts,
    "stock": stock_facts,
    "empty": empty_facts,
    "minimal": minimal_facts,
    "conda": conda_facts,
    "conda-of-ours": ours_in_conda_facts,
    "conda-swapped": conda_facts,
}
_RECEIPTS: dict[str, Callable[[], Receipt]] = {
    "healthy": receipt,
    "levelled": levelled_receipt,
    "conda-of-ours": ours_in_conda_receipt,
    "conda-swapped": ours_in_conda_receipt,
}
_KEYS = {"describes", "base", "facts", "receipt", "recipe", "hosts", "today", "expected", "example_of"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case.

    Attributes:
        describes: the environment, in a sentence.
        context: the input of the checks.
        expected: some fields of each finding that must be reported.
        example_of: the check whose documentation shows this case; empty for most.
    """

    describes: str
    context: CheckContext
    expected: tuple[dict[str, Any], ...]
    example_of: str


def case_files() -> list[Path]:
    """Return the files of all cases, sorted."""
    return sorted(CASES.glob("*.json"))


def load_case(path: Path) -> Case:
    """Read a case.

    Raises:
        ValueError: it has an unknown key.
    """
    case = json.loads(path.read_text("utf-8"))
    if unknown := set(case) - _KEYS:
        raise ValueError(f"{path}: unknown keys {sorted(unknown)}")
    return Case(
        describes=case["describes"],
        context=_context(case),
        expected=tuple(case["expected"]),
        example_of=case.get("example_of", ""),
    )


def _context(case: dict[str, Any]) -> CheckContext:
    base = case.get("base", "healthy")
    facts = changed(_BASES[base](), case.get("facts", {}))
    return CheckContext(
        facts=facts,
        receipt=_receipt(base, case.get("receipt", {} if base in _RECEIPTS else None)),
        recipe=changed(recipe(), case.get("recipe", {})),
        today=date.fromisoformat(case.get("today", "2026-11-22")),
        tool_version="0.1.0",
        hosts=tuple(Host(name=name, cpu=changed(facts.cpu, cpu)) for name, cpu in case.get("hosts", {}).items()),
    )


def _receipt(base: str, changes: dict[str, Any] | None) -> Receipt | None:
    return None if changes is None else changed(_RECEIPTS.get(base, receipt)(), changes)
