"""What 97718e6 wrote is read, finished and taken back: environments, plans, pins, facts and reports of that commit.

The data is in tests/cases/written_by_97718e6/; its README says how each file came to be.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import UNREACHABLE, Result
from support.values.written_trees import CASES as ALL
from support.values.written_trees import find_differences, put_tree, read_case, read_tree

from fastinstall.cli.main import main
from fastinstall.core.codec import document
from fastinstall.model.facts import Facts
from fastinstall.model.finding import EnvironmentReport
from fastinstall.model.stored_documents import open_stored
from fastinstall.plan.plan import Plan
from fastinstall.plan.saved_plan import open_plan

CASES = ALL / "written_by_97718e6"
PLANS = sorted(CASES.glob("plan-*.json"))
TRANSACTION = "20261121T101500Z-000001"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Where environments are put; it bears no link in its path."""
    return tmp_path.resolve() / "base"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """The program, in this process, as a whole."""
    for name, value in {"HOME": str(tmp_path / "home"), "FASTINSTALL_CACHE_DIR": str(tmp_path), **UNREACHABLE}.items():
        monkeypatch.setenv(name, value)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_STATE_HOME", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str | Path) -> Result:
        capsys.readouterr()
        code = main([str(word) for word in words])
        heard = capsys.readouterr()
        return Result(exit_code=code, stdout=heard.out, stderr=heard.err)

    return run


def _text(name: str, base: Path) -> str:
    return read_case(CASES / name, base)


_GONE = ("kernels", "base", "process", "fault")
"""Keys of the fork that versions of that time merged, and of what they observed of processes: they say nothing here."""


def _without_gone_keys(data: Any) -> Any:
    """A document less the keys that are no longer known."""
    if isinstance(data, dict):
        return {key: _without_gone_keys(item) for key, item in data.items() if key not in _GONE}
    return [_without_gone_keys(item) for item in data] if isinstance(data, list) else data


def _shared(one: Any, other: Any) -> Any:
    """What one document says of the keys of another; later versions have added some."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _shared(item, other[key]) for key, item in one.items() if key in other}
    if isinstance(one, list) and isinstance(other, list):
        return [_shared(*pair) for pair in zip(one, other, strict=True)]
    return one


def test_trees_are_put_as_they_were(base: Path) -> None:
    put_tree(CASES / "finished.json", base)
    assert read_tree(base) == json.loads(_text("finished.json", base))["now"]


@pytest.mark.parametrize("name", ["finished.json", "finished-conda.json"])
def test_a_finished_setup_is_listed_and_taken_back_to_the_byte(
    name: str, base: Path, call: Callable[..., Result]
) -> None:
    before = put_tree(CASES / name, base)
    listed = call("rollback", "--list", "--json", "--prefix", base / "env")
    assert [each["id"] for each in listed.document["transactions"]] == [TRANSACTION]
    done = call("rollback", "--yes", "--prefix", base / "env")
    assert (done.exit_code, find_differences(read_tree(base), before, "env")) == (0, {}), done.text


@pytest.mark.parametrize("name", ["cut.json", "half-undone.json"])
def test_what_died_halfway_is_brought_to_its_end_by_the_next_command(
    name: str, base: Path, call: Callable[..., Result]
) -> None:
    before = put_tree(CASES / name, base)
    told = call("doctor", "--quick", "--prefix", base / "env")
    assert "interrupted" in told.text
    done = call("rollback", "--yes", "--prefix", base / "env")
    assert (done.exit_code, find_differences(read_tree(base), before)) == (0, {}), done.text


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.stem)
def test_a_plan_is_understood_and_found_stale(plan: Path, base: Path, call: Callable[..., Result]) -> None:
    text = _text(plan.name, base)
    if '"kind": "create-environment"' not in text:
        put_tree(CASES / "finished.json", base)
    if '"kind": "conda"' in text:
        (base / "env/conda-meta").mkdir()
        (base / "env/conda-meta/history").touch()
    saved = base.parent / "plan.json"
    saved.write_text(text)

    done = call("apply", "--yes", saved)

    assert (done.exit_code, "the plan is stale" in done.text) == (5, True), done.text


def test_plans_of_nearly_every_kind_of_step_are_there() -> None:
    kinds = {step["kind"] for plan in PLANS for step in json.loads(plan.read_text(encoding="utf-8"))["steps"]}
    assert len(kinds) == 13


@pytest.mark.parametrize(
    ("name", "cls", "schema"),
    [
        *((plan.name, Plan, "plan") for plan in PLANS),
        ("facts.json", Facts, "facts"),
        ("doctor.json", EnvironmentReport, "doctor"),
    ],
)
def test_a_document_says_the_same_when_it_is_written_again(name: str, cls: type, schema: str, base: Path) -> None:
    data = json.loads(_text(name, base))
    read = open_plan(data, Path(name)) if cls is Plan else open_stored(cls, schema, data, file=name)
    assert _shared(document(schema, read), data) == _without_gone_keys(data)


def test_facts_describe_another_machine_to_doctor(base: Path, call: Callable[..., Result]) -> None:
    put_tree(CASES / "finished.json", base)
    facts = base.parent / "host.json"
    facts.write_text(_text("facts.json", base))
    told = call("doctor", "cpu-level", "--host-flags", facts, "--prefix", base / "env", "--json")
    assert told.document["schema"] == "fastinstall.doctor/1", told.text


def test_a_report_is_collected(base: Path, call: Callable[..., Result]) -> None:
    reports = base / "reports"
    reports.mkdir(parents=True)
    (reports / "web1.json").write_text(_text("doctor.json", base))
    told = call("doctor", "--collect", reports, "--json").document
    assert told["hosts"] == {"warning": ["web1"]}
    assert [finding["message"] for finding in told["findings"]] == ["stock Pillow is back"]
