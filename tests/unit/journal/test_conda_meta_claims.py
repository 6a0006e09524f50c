"""What records in conda-meta claim, however strange they are."""

import json
from pathlib import Path

import pytest

from fastinstall.journal.conda_meta import RECORDS, claims, is_readable, is_record, list_record_names, package


def _write(prefix: Path, name: str, content: object) -> None:
    (prefix / "conda-meta").mkdir(exist_ok=True)
    (prefix / "conda-meta" / name).write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"files": ["a", "b"]}, {"a": "", "b": ""}),
        ({"files": ["a"], "paths_data": {"paths": [{"_path": "a", "sha256_in_prefix": "0f"}]}}, {"a": "sha256:0f"}),
        ({"paths_data": {"paths": [{"_path": "a", "sha256": "1f"}, {"_path": "b"}]}}, {"a": "sha256:1f", "b": ""}),
        ({"files": ["../a", "/etc/passwd", "", 7, "b"]}, {"b": ""}),
        ({"files": None, "paths_data": None}, {}),
        ({"paths_data": {"paths": ["a", {"_path": 1}]}}, {}),
    ],
    ids=["files", "hashes", "older hashes", "outside", "nothing", "nonsense"],
)
def test_what_a_record_claims(tmp_path: Path, content: object, expected: dict[str, str]) -> None:
    _write(tmp_path, "x-1-0.json", content)
    assert claims(tmp_path / RECORDS / "x-1-0.json") == expected
    assert is_readable(tmp_path / RECORDS / "x-1-0.json")


@pytest.mark.parametrize("content", ["", "{", "[]", "null", {"files": "a"}])
def test_a_record_that_cannot_be_read_claims_nothing(tmp_path: Path, content: object) -> None:
    _write(tmp_path, "x-1-0.json", content)
    assert claims(tmp_path / RECORDS / "x-1-0.json") == {}
    assert not is_readable(tmp_path / RECORDS / "x-1-0.json")
    assert claims(tmp_path / RECORDS / "absent-1-0.json") == {}


def test_records_are_told_by_place_and_name(tmp_path: Path) -> None:
    _write(tmp_path, "b-1-0.json", {})
    _write(tmp_path, "a-1-0.json", {})
    _write(tmp_path, "history", "")
    assert list_record_names(tmp_path) == ("a-1-0.json", "b-1-0.json")
    assert list_record_names(tmp_path / "absent") == ()
    assert [is_record(path) for path in ("conda-meta/a-1-0.json", "conda-meta/history", "lib/a.json")] == [
        True,
        False,
        False,
    ]
    assert package("conda-meta/libjpeg-turbo-3.1.4-hb0_0.json") == "libjpeg-turbo"
