"""Parsing of conda's output."""

import json

import pytest

from fastinstall.conda.engines.command import find_error, parse_actions, parse_documents
from fastinstall.model.conda import CondaPackage

LINKED = {
    "base_url": "https://conda.example/conda-forge",
    "build_number": 1000,
    "build_string": "simd_v3_py311_0",
    "channel": "conda-forge",
    "dist_name": "pillow-13.0.0-simd_v3_py311_0",
    "name": "pillow",
    "platform": "linux-64",
    "version": "13.0.0",
}
PILLOW = CondaPackage(
    name="pillow",
    version="13.0.0",
    build="simd_v3_py311_0",
    build_number=1000,
    subdir="linux-64",
    channel="https://conda.example/conda-forge",
)


def test_documents_are_found_between_warnings_and_progress() -> None:
    text = 'WARNING: {not json}\n{"fetch": "a", "progress": 0.5}\x00{"success": true}\ntrailing {'
    assert parse_documents(text) == ({"fetch": "a", "progress": 0.5}, {"success": True})


@pytest.mark.parametrize("text", ["", "Terminated\n", "[1, 2]", "{", "null"])
def test_what_is_no_document_is_none(text: str) -> None:
    assert parse_documents(text) == ()


def test_a_failure_is_found_and_the_end_of_a_dry_run_is_none() -> None:
    ended = {"exception_name": "DryRunExit", "error": "DryRunExit: Dry run. Exiting."}
    failed = {"exception_name": "LockError", "error": "LockError: x"}
    assert find_error((ended,)) is None
    assert find_error(({"success": True}, failed)) == failed
    assert find_error(({"error": "in words alone"},)) == {"error": "in words alone"}


def test_a_package_that_is_fetched_is_told_whole() -> None:
    fetched = {
        "name": "pillow",
        "version": "13.0.0",
        "build": "simd_v3_py311_0",
        "build_number": 1000,
        "channel": "https://conda.example/conda-forge/linux-64",
        "subdir": "linux-64",
        "url": "https://conda.example/conda-forge/linux-64/pillow-13.0.0-simd_v3_py311_0.conda",
        "sha256": "ab",
        "depends": ["python"],
        "constrains": ["jpeg <0a"],
    }
    found = parse_actions(({"actions": {"FETCH": [fetched], "LINK": [LINKED], "UNLINK": []}},))
    (package,) = found.linked
    assert (package.channel, package.sha256) == ("https://conda.example/conda-forge", "ab")
    assert (package.depends, package.constrains) == (("python",), ("jpeg <0a",))


def test_actions_are_read_as_conda_gives_them() -> None:
    assert parse_actions(({"actions": {"LINK": [LINKED]}},)).linked == (PILLOW,)


@pytest.mark.parametrize("entry", [None, 3, {}, "pillow", {"dist_name": "x"}])
def test_an_entry_that_names_no_package_is_left_out(entry: object) -> None:
    assert parse_actions(({"actions": {"LINK": [entry]}},)).linked == ()


def test_nothing_to_do_is_an_empty_change() -> None:
    told = parse_documents(json.dumps({"message": "All requested packages already installed.", "success": True}))
    assert parse_actions(told).linked == ()
    assert parse_actions(told).unlinked == ()
