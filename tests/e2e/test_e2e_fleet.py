"""A fleet, handled on the command line: from real facts files to a wheelhouse and collected reports."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from json_schema import json_schema
from jsonschema import Draft202012Validator
from support.environments.interpreters import at_hand, running
from support.sandbox import STOCK, NewSandbox, Sandbox

from fastinstall.core.codec import open_document
from fastinstall.core.lock import lock_environment
from fastinstall.fleet.fleet import Fleet
from fastinstall.fleet.hosts import read_hosts
from fastinstall.fleet.reports import Collected
from fastinstall.model.facts import Facts

DAY = 86400


@dataclass(frozen=True, kw_only=True)
class Captured:
    """A directory with real documents of `inspect --json`, one per version of Python."""

    directory: Path

    def document(self, version: str = str(running())) -> dict[str, Any]:
        """Return the document of the environment with this Python version."""
        told: dict[str, Any] = json.loads((self.directory / f"python{version}.json").read_bytes())
        return told


@pytest.fixture(scope="module")
def captured(new_sandbox: NewSandbox) -> Iterator[Captured]:
    """Yield the facts of two environments: with the oldest available Python, and with the Python of the tests."""
    with new_sandbox() as sandbox:
        directory = sandbox.root / "facts"
        directory.mkdir()
        for python in {each.version: each for each in (at_hand()[0], running())}.values():
            venv = sandbox.venv(python, name=str(python), pip=False)
            told = sandbox.cli("inspect", "--json", "--prefix", venv.prefix)
            assert told.exit_code == 0, told.text
            (directory / f"python{python}.json").write_text(told.stdout)
        yield Captured(directory=directory)


def _write(directory: Path, documents: Mapping[str, object]) -> Path:
    directory.mkdir(exist_ok=True)
    for name, told in documents.items():
        (directory / f"{name}.json").write_text(told if isinstance(told, str) else json.dumps(told))
    return directory


def _elsewhere(told: dict[str, Any], python: str) -> dict[str, Any]:
    """Return the document with its Python replaced by a version that this machine does not have."""
    interpreter = {**told["interpreter"], "version": f"{python}.0", "abi": f"cp{python.replace('.', '')}"}
    return {**told, "interpreter": interpreter}


def test_a_plan_from_real_facts_says_which_wheels_serve_whom(sandbox: Sandbox, captured: Captured) -> None:
    assert read_hosts(captured.directory)[1] == []
    hosts = {file.stem: json.loads(file.read_bytes()) for file in captured.directory.iterdir()}
    whole = {name: open_document(Facts, "facts", told, file=name) for name, told in hosts.items()}
    damaged = {"broken": '{"schema": ', "later": {"schema": "fastinstall.facts/9"}}
    directory = _write(sandbox.root / "hosts", {**hosts, **damaged})
    old = directory / "old.json"
    old.write_text((captured.directory / f"python{running()}.json").read_text())
    os.utime(old, (time.time() - 40 * DAY,) * 2)

    path = os.pathsep.join(str(python.executable.parent) for python in at_hand())
    planned = sandbox.cli("plan", "--hosts", directory, "--json", env={"PATH": path})
    assert planned.exit_code == 0, planned.text
    Draft202012Validator(json_schema(Fleet, name="fleet")).validate(planned.document)
    fleet = open_document(Fleet, "fleet", planned.document, file="stdout")
    assert {name: artefact.abi for artefact in fleet.artefacts for name in artefact.hosts} == {
        name: facts.interpreter.abi for name, facts in whole.items()
    }
    for artefact in fleet.artefacts:
        assert artefact.builder is not None
        assert artefact.problem == ""
    assert {each.host: each.cause.value for each in fleet.left_out} == {
        "broken": "unreadable",
        "later": "unreadable",
        "old": "stale",
    }

    text = sandbox.cli("plan", "--hosts", directory, "--max-age", "any", "-o", "fleet.json")
    assert text.exit_code == 0, text.text
    saved = json.loads((sandbox.root / "fleet.json").read_bytes())
    assert "old" in [name for artefact in saved["artefacts"] for name in artefact["hosts"]]


def test_a_build_makes_each_wheel_once_and_names_missing_pythons(sandbox: Sandbox, captured: Captured) -> None:
    told = captured.document()
    documents = {"a": told, "b": told, "c": _elsewhere(told, "3.99"), "d": '{"schema": '}
    directory = _write(sandbox.root / "hosts", documents)
    wheelhouse = sandbox.root / "wheels"
    words = ("build", "--hosts", directory, "-o", wheelhouse, *STOCK)
    built = sandbox.cli(*words, "--json")
    assert built.exit_code == 6, built.text
    assert json.loads((wheelhouse / "fleet.json").read_bytes()) == built.document
    fleet = open_document(Fleet, "fleet", built.document, file="stdout")
    made, missing = fleet.artefacts
    assert (made.hosts, missing.hosts) == (("a", "b"), ("c",))
    assert made.wheel is not None
    assert f"{made.sha256}  {made.wheel}\n" in (wheelhouse / "SHA256SUMS").read_text()
    assert "no CPython 3.99" in missing.problem
    assert "python3.99 on PATH" in missing.hint
    assert [each.host for each in fleet.left_out] == ["d"]

    (directory / "c.json").unlink()
    before = {file: file.stat().st_mtime_ns for file in wheelhouse.rglob("*.whl")}
    nothing_runs = {"FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache"), "PATH": str(sandbox.root)}
    again = sandbox.cli(*words, "--offline", env=nothing_runs)
    assert again.exit_code == 0, again.text
    assert f"{made.wheel} is there already" in again.stderr
    assert {file: file.stat().st_mtime_ns for file in wheelhouse.rglob("*.whl")} == before

    with lock_environment(wheelhouse):
        installer = sandbox.cli(*words)
    assert installer.exit_code == 5, installer.text
    assert "is working on this wheelhouse" in installer.stderr


def test_reports_are_summed_up_and_silent_hosts_are_named(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), pip=False)
    healthy = sandbox.cli("doctor", "--quick", "--json", "--prefix", venv.prefix)
    unobservable = sandbox.cli("doctor", "--quick", "--json", "--prefix", sandbox.root / "nowhere")
    assert unobservable.exit_code == 4
    reports = {"a": healthy.document, "b": healthy.document, "gone": unobservable.stdout, "half": healthy.stdout[:200]}
    collect = ("doctor", "--collect", _write(sandbox.root / "reports", reports))
    summed = sandbox.cli(*collect, "--json")
    assert summed.exit_code == healthy.exit_code, summed.text
    Draft202012Validator(json_schema(Collected, name="collected")).validate(summed.document)
    assert summed.document["hosts"] == {healthy.document["status"]: ["a", "b"]}
    assert [(each["host"], each["absence"]) for each in summed.document["unreported"]] == [
        ("gone", "unobservable"),
        ("half", "unreadable"),
    ]
    assert sandbox.cli(*collect, "--fail-on", "warning").exit_code == 3
    assert sandbox.cli(*collect, "--max-age", "0", "--fail-on", "never").exit_code == 4
