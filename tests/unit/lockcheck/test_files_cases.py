"""Files that name dependencies, with the expected findings; `made_by` in a case says how its files were made."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from published_schemas import SCHEMAS

from fastinstall.core.codec import document, encode
from fastinstall.lockcheck.files import check_locks
from fastinstall.lockcheck.lock_names import LockKind, lock_kind_of

CASES = Path(__file__).parents[2] / "cases" / "locks"
EXPECTATIONS = sorted(CASES.glob("*/expected.json"))


def _case(expected: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(expected.read_text(encoding="utf-8"))
    return case


FILES = [(each.parent / name, found) for each in EXPECTATIONS for name, found in _case(each)["files"].items()]


@pytest.mark.parametrize(("file", "found"), FILES, ids=["/".join(file.parts[-2:]) for file, _ in FILES])
def test_what_is_found(file: Path, found: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    report = check_locks([Path(file.name)])
    told = [
        {"line": each.line, "status": each.status.value, "excerpt": each.excerpt, "command": each.remedy.command}
        for each in report.findings
    ]
    assert told == found
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all("pillow" in lines[each["line"] - 1] + lines[each["line"] - 2] for each in found)


def test_every_file_has_an_expectation_and_every_kind_a_file() -> None:
    there = {file for file in CASES.glob("*/*") if file.name != "expected.json"}
    assert there == {file for file, _ in FILES}
    assert {lock_kind_of(file) for file in there} == set(LockKind)


def test_all_of_them_in_one_run_keep_the_published_schema() -> None:
    report = check_locks([file for file, _ in FILES])
    assert len(report.findings) == sum(len(found) for _, found in FILES)
    data = document("locks", report)
    jsonschema.validate(data, SCHEMAS["locks"]())
    assert encode(report.files[0])["kind"] in set(LockKind)


def test_no_file_names_a_registry() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file, _ in FILES)
    hosts = set(re.findall(r"https?://([^/\s\"']+)", text))
    assert hosts == {"conda.example.org", "files.example.org", "index.example.org"}
