"""Whatever is wrong with a document, its parser raises one kind of error, which names the file."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import DEEPEST, json_data, parse_json, parse_toml
from fastinstall.core.values import immutable

HOSTILE_JSON: dict[str, str] = {
    "": "Expecting value",
    "{": "Expecting property name",
    "[" * 100_000: "nested more than",
    '{"a":' * 100_000: "nested more than",
    "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1): "nested more than",
    '{"a": NaN}': "NaN is not a number",
    '{"a": -Infinity}': "Infinity is not a number",
    '{"a": 1e999}': "the number 1e999 is too large",
    '{"a": 1' + "0" * 30 + "}": "is too large",
    '{"a": 1' + "0" * 9000 + "}": "is too large",
    r'{"a": "x\u0000"}': "a NUL character",
    r'{"a\u0000": 1}': "a NUL character",
    r'{"a": "\ud800"}': "half of a character",
    r'{"a": "\udc00\ud800"}': "half of a character",
}
HOSTILE_TOML = {
    "a = ": "Invalid value",
    "a = " + "[" * 100_000: "nested more than",
    "a" + ".a" * 300 + " = 1": "nested more than",
    r'a = "\u0000"': "a NUL character",
}


@pytest.mark.parametrize("text", HOSTILE_JSON, ids=lambda text: text[:20])
def test_unusable_json_is_refused_naming_its_file(text: str) -> None:
    with pytest.raises(DocumentError, match=r"x/receipt\.json: not JSON: ") as caught:
        parse_json(text, file="x/receipt.json")
    assert HOSTILE_JSON[text] in caught.value.problem
    with pytest.raises(ValueError):  # noqa: PT011 (the same error, for callers that skip such files)
        json_data(text.encode())


@pytest.mark.parametrize("text", HOSTILE_TOML, ids=lambda text: text[:20])
def test_unusable_toml_is_refused_naming_its_file(text: str) -> None:
    with pytest.raises(DocumentError, match=r"x\.toml: not TOML: ") as caught:
        parse_toml(text, file="x.toml")
    assert HOSTILE_TOML[text] in caught.value.problem


@pytest.mark.parametrize("content", [b'{"a": "\xff"}', b"\xff\xfe{", b"\x80"])
def test_bytes_that_are_no_text_are_refused(content: bytes) -> None:
    with pytest.raises(DocumentError, match="x: not JSON"):
        parse_json(content, file="x")


@pytest.mark.parametrize(
    "value",
    [
        *("\udc80\udcff", "\U0001f600", r"C:\ud800\u0000", "a\\", 2**63 - 1, -(2**63), 1.5, {"a": [[[{}]]]}),
        *(["[" * 500], [[]] * 1000, list(range(1000))),
    ],
)
def test_what_our_documents_hold_is_read_as_it_was_written(value: object) -> None:
    for ascii_alone in (True, False):
        text = json.dumps({"a": value}, ensure_ascii=ascii_alone)
        assert json_data(text) == {"a": value}


def test_who_looks_at_every_text_may_have_any() -> None:
    assert json_data(r'["\u0000\ud800"]', any_text=True) == ["\0\ud800"]


@immutable
class _Sized:
    size: int = 0
    share: float = 0.0


@pytest.mark.parametrize(
    "data", [{"size": 2**64}, {"share": 10**400}, {"share": float("inf")}, {"share": float("nan")}]
)
def test_a_number_that_nothing_can_have_is_refused_by_its_key(data: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="the number is too large") as caught:
        decode(_Sized, data, file="x")
    assert (caught.value.file, caught.value.key) == ("x", next(iter(data)))


def test_a_long_value_is_repeated_in_part() -> None:
    refused: Callable[[], object] = lambda: decode(_Sized, {"size": "x" * 10_000}, file="x")  # noqa: E731
    with pytest.raises(DocumentError) as caught:
        refused()
    assert len(caught.value.message) < 200
