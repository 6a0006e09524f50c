"""The commands that each state runs, and the module's result for their answers, which come from a table."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.ansible.collection_parts import part

states = part("states")
ToolError = part("errors").ToolError
ERROR = {"schema": "fastinstall.error/1", "exit_code": 5, "message": "locked", "hint": "wait", "details": ["by 7"]}
PLAN: dict[str, Any] = {
    "environment": {"prefix": "/e"},
    "swap": None,
    "verify": None,
    "risks": [],
    "summary": "nothing to do",
    "request": {"allow": []},
}
SWAP = {"removes": ["pillow-13.0.0.dist-info"], "records": [], "reason": "it is slow"}
VERIFY = {"checks": ["swapped"], "reason": "an error undoes it"}
RISK = {"risk": "vulnerable", "summary": "a hole comes back", "items": ["CVE-1"], "allowed": False}


class Played:
    """Stands in for the fastinstall process: answers verbs from a table, and records the commands."""

    def __init__(self, answers: Mapping[str, tuple[int, Any]]) -> None:
        self.answers, self.asked = answers, list[list[str]]()

    def __call__(self, argv: Sequence[str]) -> tuple[int, str, str]:
        self.asked.append(list(argv[1:]))
        verb = "list" if "--list" in argv else argv[1]
        code, document = self.answers[verb]
        return code, document if isinstance(document, str) else json.dumps(document), "said\n"


def request(run: Played, *, changing: bool = True, comparing: bool = False, **given: Any) -> Any:
    usual = {
        name: specification.get("default")
        for name, (_, specification) in part("request_options").REQUEST_OPTIONS.items()
    }
    target = {"prefix": None, "python": None, "new_env": None}
    flags = {"examine": False, "checks": [], "quick": False, "fail_on": "error", "redact": False, "dest": None}
    parameters = {**usual, **target, **flags, **given}
    return states.Request(["fastinstall"], run, parameters, changing=changing, comparing=comparing)


def receipt(prefix: Path) -> dict[str, Any]:
    return {"distribution": "pillow", "version": "13.0.0+simd.v2", "environment": {"prefix": str(prefix)}}


def transactions(*found: tuple[str, str]) -> dict[str, Any]:
    return {"transactions": [{"id": name, "state": state, "verb": "setup", "stack": "pillow"} for name, state in found]}


def test_present_asks_once_and_reports_no_change_if_none_is_made(tmp_path: Path) -> None:
    run = Played({"setup": (0, receipt(tmp_path))})
    result = states.present(request(run, prefix=str(tmp_path), offline=True))
    assert run.asked == [["setup", "--yes", "--prefix", str(tmp_path), "--offline", "--json"]]
    assert result["changed"] is False
    assert result["receipt"]["version"] == "13.0.0+simd.v2"


@pytest.mark.parametrize("file", ["receipt.json", "tx/1/journal.jsonl", "project", "kept/1"])
def test_present_has_changed_something_where_it_is_on_record(tmp_path: Path, file: str) -> None:
    class Writing(Played):
        def __call__(self, argv: Sequence[str]) -> tuple[int, str, str]:
            path = tmp_path / "share" / "fastinstall" / file
            path.parent.mkdir(parents=True)
            path.write_text("{}")
            return super().__call__(argv)

    assert states.present(request(Writing({"setup": (0, receipt(tmp_path))}), prefix=str(tmp_path)))["changed"] is True


def test_an_environment_that_was_made_already_is_not_made_again(tmp_path: Path) -> None:
    run = Played({"setup": (0, receipt(tmp_path))})
    states.present(request(run, new_env=str(tmp_path)))
    states.present(request(run, new_env=str(tmp_path / "missing"), python="python3.12"))
    assert run.asked[0][2:4] == ["--prefix", str(tmp_path)]
    assert run.asked[1][2:6] == ["--new-env", str(tmp_path / "missing"), "--python", "python3.12"]


def test_looking_ahead_only_makes_the_plan() -> None:
    run = Played({"plan": (0, {**PLAN, "swap": SWAP, "verify": VERIFY, "summary": "summary"})})
    result = states.present(request(run, prefix="/e", changing=False))
    assert [words[0] for words in run.asked] == ["plan"]
    assert result["changed"] is True
    assert result["diff"]["before"] == "pillow-13.0.0.dist-info\n"
    assert result["diff"]["after"] == f"summary\nswap: {SWAP['reason']}\nverify: {VERIFY['reason']}\n"


def test_a_plan_without_steps_changes_nothing_and_has_no_diff() -> None:
    result = states.present(request(Played({"plan": (0, PLAN)}), prefix="/e", changing=False))
    assert result["changed"] is False
    assert result["diff"]["before"] == result["diff"]["after"] == ""


def test_looking_ahead_refuses_what_setup_would_refuse() -> None:
    run = Played({"plan": (0, {**PLAN, "swap": SWAP, "verify": VERIFY, "risks": [RISK]})})
    with pytest.raises(ToolError, match="a hole comes back") as caught:
        states.present(request(run, prefix="/e", changing=False))
    assert caught.value.hint == "accept the risk: allow: [vulnerable]"
    assert caught.value.details == ["CVE-1"]


def test_an_error_has_the_words_of_fastinstall() -> None:
    with pytest.raises(ToolError) as caught:
        states.present(request(Played({"setup": (5, ERROR)}), prefix="/e"))
    error = caught.value
    assert (error.message, error.hint, error.exit_code, error.details) == ("locked", "wait", 5, ["by 7"])


def test_an_end_without_an_answer_shows_what_was_said_last() -> None:
    with pytest.raises(ToolError, match=r"exit code -9 .* JSON") as caught:
        states.present(request(Played({"setup": (-9, "")}), prefix="/e"))
    assert caught.value.details == ["said"]


def test_absent_goes_back_to_before_the_first_setup(tmp_path: Path) -> None:
    listed = transactions(("3", "damaged"), ("2", "committed"), ("1", "committed"))
    run = Played({"list": (0, listed), "rollback": (0, {"done": ["undone: 2", "undone: 1"]})})
    result = states.absent(request(run, prefix=str(tmp_path), allow=["force-remove"]))
    assert result["changed"] is True
    assert run.asked[1] == [
        *("rollback", "--yes", "--prefix", str(tmp_path), "--to", "1", "--allow", "force-remove", "--json")
    ]


def test_absent_brings_what_was_cut_off_to_its_end(tmp_path: Path) -> None:
    run = Played({"list": (0, transactions(("1", "open"))), "rollback": (0, {"done": ["undone: 1"]})})
    states.absent(request(run, prefix=str(tmp_path)))
    assert "--to" not in run.asked[1]


def test_absent_has_nothing_to_do_where_nothing_is_set_up(tmp_path: Path) -> None:
    run = Played({"list": (0, transactions())})
    assert states.absent(request(run, python=str(tmp_path / "bin" / "python")))["changed"] is False
    assert states.absent(request(run, prefix=str(tmp_path / "missing")))["changed"] is False
    assert run.asked == [["rollback", "--list", "--python", str(tmp_path / "bin" / "python"), "--json"]]


@pytest.mark.parametrize(("code", "told"), [(0, "is installed in"), (3, "stock Pillow is back")])
def test_a_setup_is_examined_in_the_same_task_if_requested(tmp_path: Path, code: int, told: str) -> None:
    finding = {"check": "swapped", "status": "error" if code else "ok", "message": "stock Pillow is back"}
    report = {"environment": {"prefix": str(tmp_path)}, "status": finding["status"], "findings": [finding]}
    run = Played({"setup": (0, receipt(tmp_path)), "doctor": (code, report)})
    result = states.present(request(run, prefix=str(tmp_path), examine=True, quick=True))
    assert [words[0] for words in run.asked] == ["setup", "doctor"]
    assert result["report"] == report
    assert result["receipt"]["version"] == "13.0.0+simd.v2"
    assert (result["failed"], result["changed"]) == (bool(code), False)
    assert told in result["msg"]


def test_looking_ahead_to_absent_undoes_nothing(tmp_path: Path) -> None:
    run = Played({"list": (0, transactions(("1", "committed")))})
    result = states.absent(request(run, prefix=str(tmp_path), changing=False))
    assert result["changed"] is True
    assert result["diff"]["before"] == "1 setup pillow\n"
    assert [words[:2] for words in run.asked] == [["rollback", "--list"]]


def test_checked_fails_with_the_report_if_doctor_finds_something() -> None:
    finding = {"check": "swapped", "status": "error", "message": "stock Pillow is back"}
    report = {"environment": {"prefix": "/e"}, "status": "error", "findings": [finding, {"check": "x", "status": "ok"}]}
    run = Played({"doctor": (3, report)})
    result = states.checked(request(run, new_env="/e", checks=["swapped"], quick=True, fail_on="warning"))
    assert run.asked == [["doctor", "swapped", "--prefix", "/e", "--quick", "--fail-on", "warning", "--json"]]
    assert result["failed"] is True
    assert result["report"] == report
    assert result["msg"] == f"/e: error; swapped: {finding['message']}"


def test_facts_are_kept_in_a_file_that_changes_only_with_them(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    run = Played({"inspect": (0, {"cpu": {"level": "x86-64-v3"}})})
    asked: dict[str, Any] = {"python": "/usr/bin/python3", "dest": str(file), "redact": True}
    assert states.observed(request(run, **asked, changing=False))["changed"] is True
    assert not file.exists()
    assert states.observed(request(run, **asked))["changed"] is True
    assert json.loads(file.read_text()) == {"cpu": {"level": "x86-64-v3"}}
    assert states.observed(request(run, **asked))["changed"] is False
    assert run.asked[0] == ["inspect", "--python", "/usr/bin/python3", "--redact", "--json"]


def test_facts_that_cannot_be_saved_are_an_error_naming_the_file(tmp_path: Path) -> None:
    run = Played({"inspect": (0, {})})
    with pytest.raises(ToolError, match=r"dest: .*facts\.json: No such file"):
        states.observed(request(run, prefix="/e", dest=str(tmp_path / "missing" / "facts.json")))
