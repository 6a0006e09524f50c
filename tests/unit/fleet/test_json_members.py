"""The first members of a JSON object: what the parser of the standard library would give, without the rest."""

import json

import pytest

from fastinstall.fleet.hosts import first_members

_TEXT = """{
  "a": {"b": [1, 2, {"c": "}"}]}, "quoted \\" key": null,
  "late": "\\u00e4", "a": 2, "rest": [1, 2
}"""


def test_members_are_what_json_says_and_the_rest_is_not_looked_at() -> None:
    assert first_members(_TEXT, ("a", "late")) == {"a": {"b": [1, 2, {"c": "}"}]}, "late": "ä"}


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"b": {"a": 1}, "a": [None, True, 1e3, "x"]}, {"é": "\n"}])
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_whole_object_is_read_as_json_reads_it(value: dict[str, object], indent: int | None) -> None:
    wanted = (*value, "missing")
    assert first_members(json.dumps(value, indent=indent), wanted) == value
    assert first_members(f"\n {json.dumps(value, indent=indent, ensure_ascii=False)} \n", wanted) == value


@pytest.mark.parametrize(
    "text",
    ["", "[]", "1", "{", '{"a"', '{"a": ', '{"a": 1', '{"a": 1,', '{"a": 1,}', "{a: 1}", '{"a" 1}', '{"a": 1 "b": 2}'],
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        first_members(text, ("a", "b"))


def test_what_was_cut_off_behind_the_wanted_members_is_noticed() -> None:
    with pytest.raises(ValueError, match="it has no end"):
        first_members('{"a": 1, "b": [1, 2', ("a",))
