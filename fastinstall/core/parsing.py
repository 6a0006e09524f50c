"""JSON and TOML to data, whoever wrote them: the one place where a parser's failure gets its name.

A parser fails in many ways (ValueError, RecursionError, MemoryError, OverflowError), and what it passes may fail
later: a number that no clock and no file has, a NUL in a path, a nesting that `repr` cannot follow. Here all of that
is a ValueError, or with the file's name a `DocumentError`. Reads no files; that is `core.foreign`.
"""

import json
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import DocumentError

DEEPEST = 100
"""Levels of nesting; the deepest document of ours has a dozen."""

_DIGITS = 20
"""Of a whole number: nanoseconds since the epoch have 19."""

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u0000|U00000000)")
_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_PAIRED = re.compile(_HIGH + _LOW)
_ESCAPED_BYTE = re.compile(r"\\u[dD][cC][89a-fA-F][0-9a-fA-F]")
_SURROGATE = re.compile(rf"(?<!\\)(?:\\\\)*(?:{_HIGH}|{_LOW})")


def parse_json(content: bytes | str, *, file: PurePath | str) -> Any:  # noqa: ANN401 (JSON is what it is)
    """Read JSON.

    Args:
        content: in UTF-8, or another encoding of JSON, where it is bytes.
        file: where it came from, for messages.

    Raises:
        DocumentError: it is not JSON, or holds what no document of ours or of the field holds.
    """
    try:
        return json_data(content)
    except ValueError as error:
        raise DocumentError(file, "", f"not JSON: {error}") from None


def parse_toml(text: str, *, file: PurePath | str) -> dict[str, Any]:
    """Read TOML; like `parse_json`.

    Raises:
        DocumentError: it is not TOML, or holds what no settings hold.
    """
    try:
        return toml_data(text)
    except ValueError as error:
        raise DocumentError(file, "", f"not TOML: {error}") from None


def json_data(content: bytes | str, *, any_text: bool = False) -> Any:  # noqa: ANN401 (JSON is what it is)
    """Read JSON, for readers that pass over what they cannot read.

    Args:
        content: text, or bytes in UTF-8 or another encoding of JSON.
        any_text: also take texts that no path and no message can hold; who reads looks at each.

    Raises:
        ValueError: for whatever reason it cannot be read.
    """
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content))
    if not any_text:
        _refuse_characters(text)
    return _parse_text(text, lambda: _JSON.decode(text))


def toml_data(text: str) -> dict[str, Any]:
    """Read TOML; like `json_data`.

    Raises:
        ValueError: for whatever reason it cannot be read.
    """
    import tomllib  # noqa: PLC0415 (3 ms that most runs save)

    _refuse_characters(text)
    data: dict[str, Any] = _parse_text(text, lambda: tomllib.loads(text))
    return data


def _parse_text(text: str, parse: Callable[[], Any]) -> Any:  # noqa: ANN401 (JSON is what it is)
    try:
        data = parse()
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(_WORDS[type(error)]) from None
    if text.count("[") + text.count("{") + text.count(".") > DEEPEST:
        _refuse_depth(data)
    return data


_WORDS: dict[type[Exception], str] = {
    RecursionError: f"nested more than {DEEPEST} levels deep",
    MemoryError: "needs more memory than there is",
    OverflowError: "a number is too large",
}


def _refuse_characters(text: str) -> None:
    """Raise for what no name, path or message holds; bytes that are no UTF-8 stay, as Python escapes them."""
    if ("\\u0000" in text or "\\U0000" in text) and _NUL.search(text):
        raise ValueError("a text holds a NUL character")
    if ("\\ud" in text or "\\uD" in text) and _SURROGATE.search(_ESCAPED_BYTE.sub("", _PAIRED.sub("", text))):
        raise ValueError("a text holds half of a character (an unpaired surrogate)")


def _refuse_depth(data: object) -> None:
    level = [data]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _list_containers(outer)]
        if not level:
            return
    raise ValueError(_WORDS[RecursionError])


def _list_containers(data: object) -> list[Any]:
    values = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:_DIGITS]} is too large")
    return number


def _parse_int(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"the number {text[:_DIGITS]}... is too large")
    return int(text)


_JSON = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float, parse_int=_parse_int)
