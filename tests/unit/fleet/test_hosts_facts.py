"""Facts of many hosts: only the needed keys of a file are read and checked; a bad file does not stop the others."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.values.builders import conda_facts, healthy_facts, minimal_facts
from support.values.fleet_cases import NOW, facts_document

from fastinstall.core.codec import document, open_document
from fastinstall.core.errors import DocumentError, LaterDocumentError, UsageError
from fastinstall.fleet.fleet import Cause
from fastinstall.fleet.hosts import FleetHost, HostDocument, read_host_facts, read_hosts
from fastinstall.model.facts import Facts
from fastinstall.model.stored_documents import open_stored


def _document(content: str, name: str = "web1") -> HostDocument:
    return HostDocument(name=name, file=f"{name}.json", modified=NOW, content=content.encode())


def _text(changes: dict[str, Any] | None = None, without: tuple[str, ...] = ()) -> str:
    told = {**json.loads(facts_document("web1", {}).content), **(changes or {})}
    return json.dumps({key: item for key, item in told.items() if key not in without})


_INTERPRETER = json.loads(_text())["interpreter"]


def _read(content: str) -> FleetHost:
    host = read_host_facts(_document(content))
    assert host is not None
    return host


@pytest.mark.parametrize("facts", [healthy_facts(), conda_facts(), minimal_facts()], ids=["whole", "conda", "least"])
def test_what_is_read_in_part_is_what_the_whole_document_says(facts: Facts) -> None:
    content = json.dumps(document("facts", facts))
    whole = open_document(Facts, "facts", json.loads(content), file="web1.json")
    machine = _read(content).machine
    assert machine.cpu.flags == whole.cpu.flags
    assert (machine.cpu.level, machine.cpu.architecture) == (whole.cpu.level, whole.cpu.architecture)
    assert whole.interpreter.version.startswith(f"{machine.python}.")
    assert whole.interpreter.platform == f"linux-{machine.architecture}"
    for name in ("implementation", "abi", "libc", "libc_version"):
        assert getattr(machine, name) == getattr(whole.interpreter, name)
    assert _read(content).kind is whole.environment.kind


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("no JSON", "is not JSON"),
        ("[1, 2]", "expected a table of keys at the top"),
        (_text()[:9000], "is not JSON"),
        (_text()[:-1], "is not JSON"),
        (_text().replace('"cpu"', '"cpu', 1), "is not JSON"),
        (_text(without=("cpu",)), "cpu: missing"),
        (_text(without=("interpreter",)), "interpreter: missing"),
        (_text({"cpu": {"architecture": 7}}), "cpu.architecture: expected a string, found an integer"),
        (_text({"interpreter": []}), "interpreter: expected a table, found a list"),
        (_text({"interpreter": {"implementation": "cpython"}}), "interpreter.executable: missing"),
        (_text({"interpreter": {**_INTERPRETER, "abi": 7}}), "interpreter.abi: expected a string, found an integer"),
        (_text({"interpreter": {**_INTERPRETER, "version": "x"}}), "interpreter.version: expected a version"),
        (_text({"environment": {"kind": "sandbox"}}), "environment.kind: 'sandbox' is not one of"),
        (_text({"frozen": 1}), "frozen: expected a string"),
        (_text({"conda": "yes"}), "conda: expected a table"),
        (_text({"host": ""}), "host: expected a name"),
        (_text({"observed_at": "yesterday"}), "observed_at: expected a time"),
        (_text({"schema": "fastinstall.plan/1"}), "schema: expected 'fastinstall.facts/1'"),
        (_text({"schema": None}), "schema: expected 'fastinstall.facts/1'"),
        ('{"schema": "fastinstall.error/1", "message": "no PIL"}', "inspect failed there: no PIL"),
        ("[" * 100_000, "is not JSON"),
        ('{"a": ' + "[" * 100_000, "is not JSON"),
        ("\ud800", ""),
    ],
)
def test_a_document_that_is_none_is_named_with_what_is_wrong(content: str, problem: str) -> None:
    broken = HostDocument(name="web1", file="web1.json", content=content.encode("utf-8", "surrogatepass"))
    with pytest.raises(DocumentError) as caught:
        read_host_facts(broken)
    assert problem in caught.value.message
    assert caught.value.message.startswith("web1.json: ")


def test_a_newer_fastinstall_document_differs_from_a_foreign_one() -> None:
    with pytest.raises(LaterDocumentError) as caught:
        read_host_facts(_document(_text({"schema": "fastinstall.facts/2"})))
    assert "a later fastinstall" in caught.value.message


def test_keys_that_an_earlier_version_had_are_passed_over() -> None:
    told = document("facts", healthy_facts())
    told["runtime"]["kept_bytes"] = 8 << 20
    assert open_stored(Facts, "facts", told, file="web1.json") == healthy_facts()
    assert _read(json.dumps(told)) == _read(json.dumps(document("facts", healthy_facts())))


def test_keys_that_a_later_version_has_added_are_passed_over() -> None:
    told = json.loads(_text())
    told["cpu"]["topology"] = {"sockets": 2}
    told["interpreter"]["jit"] = True
    assert _read(json.dumps({"note": 1, **told})) == _read(_text())


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_the_name_and_the_time_inside_count_before_the_files(first: bool) -> None:  # noqa: FBT001 (pytest's own)
    added = {"host": "web7.example.org", "observed_at": "2025-11-01T00:00:00Z"}
    told = json.loads(_text())
    host = _read(json.dumps({**added, **told} if first else {**told, **added}))
    assert (host.name, host.seen) == ("web7.example.org", 1_761_955_200.0)


def test_documents_that_speak_of_many_hosts_are_passed_over() -> None:
    assert read_host_facts(_document('{"schema": "fastinstall.fleet/1", "groups": []}')) is None


def test_unreadable_files_do_not_stop_reading_a_directory(tmp_path: Path) -> None:
    (tmp_path / "web1.json").write_text(_text())
    (tmp_path / "web2.example.org").write_text(_text())
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / ".hidden.json").write_text("{")
    (tmp_path / "below").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "gone.json").symlink_to("nowhere")
    found, unread = read_hosts(tmp_path)
    assert {each.name for each in found} == {"web1", "web2.example.org"}
    left_out = {each.host: each for each in unread}
    assert set(left_out) == {"broken", "gone", "pipe"}
    assert {each.cause for each in left_out.values()} == {Cause.UNREADABLE}
    assert "FIFO" in left_out["pipe"].reason
    assert all(each.hint for each in left_out.values())


def test_a_directory_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=rf"^--hosts /nowhere/hosts: {os.strerror(errno.ENOENT)}"):
        read_hosts(Path("/nowhere/hosts"))


def test_a_file_larger_than_any_document_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "disk.json").open("wb") as stream:
        stream.truncate(1 << 40)
    (found,) = read_hosts(tmp_path)[1]
    assert "larger than 16 MiB" in found.reason


def test_a_link_that_leads_round_in_a_ring_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "one.json").symlink_to("one.json")
    (tmp_path / "below").mkdir()
    (found,) = read_hosts(tmp_path)[1]
    assert found.file.endswith("one.json")
    assert found.reason.startswith("cannot be read: ")
