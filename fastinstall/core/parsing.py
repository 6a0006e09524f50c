"""Parse JSON and TOML from untrusted sources, with one kind of exception for all failures.

Python's parsers raise many exceptions (ValueError, RecursionError, MemoryError, OverflowError). They also accept data
that causes failures later: numbers too large for any time or file size, a NUL in a path, nesting too deep for `repr`.
In all these cases, the functions of this module raise a ValueError, or a `DocumentError` with the file's name.
`core.foreign` reads the files.
"""

import json
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import DocumentError

DEEPEST = 100
"""Maximum number of nested levels; our own documents have at most a dozen."""

_DIGITS = 20
"""Maximum number of characters in an integer: nanoseconds since the epoch have 19 digits."""

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u0000|U00000000)")
_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_PAIRED = re.compile(_HIGH + _LOW)
_ESCAPED_BYTE = re.compile(r"\\u[dD][cC][89a-fA-F][0-9a-fA-F]")
_SURROGATE = re.compile(rf"(?<!\\)(?:\\\\)*(?:{_HIGH}|{_LOW})")


def parse_json(content: bytes | str, *, file: PurePath | str) -> Any:  # noqa: ANN401 (JSON has no static type)
    """Parse JSON.

    Args:
        content: text, or bytes in UTF-8 or another encoding of JSON.
        file: the source of the content, for messages.

    Raises:
        DocumentError: the content is not JSON, or is refused (see the module's docstring).
    """
    try:
        return json_data(content)
    except ValueError as error:
        raise DocumentError(file, "", f"not JSON: {error}") from None


def parse_toml(text: str, *, file: PurePath | str) -> dict[str, Any]:
    """Parse TOML, like `parse_json` for JSON.

    Raises:
        DocumentError: the text is not TOML, or is refused (see the module's docstring).
    """
    try:
        return toml_data(text)
    except ValueError as error:
        raise DocumentError(file, "", f"not TOML: {error}") from None


def json_data(content: bytes | str, *, any_text: bool = False) -> Any:  # noqa: ANN401 (JSON has no static type)
    """Parse JSON; unlike `parse_json`, raise a ValueError, for callers that skip unreadable files.

    Args:
        content: text, or bytes in UTF-8 or another encoding of JSON.
        any_text: also accept NUL characters and unpaired surrogates; the caller must then check each string.

    Raises:
        ValueError: the content cannot be parsed, or is refused.
    """
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content))
    if not any_text:
        _refuse_characters(text)
    return _parse_text(text, lambda: _JSON.decode(text))


def toml_data(text: str) -> dict[str, Any]:
    """Parse TOML, like `json_data` for JSON.

    Raises:
        ValueError: the text cannot be parsed, or is refused.
    """
    import tomllib  # takes 3 ms; most runs read no TOML

    _refuse_characters(text)
    data: dict[str, Any] = _parse_text(text, lambda: tomllib.loads(text))
    return data


def _parse_text(text: str, parse: Callable[[], Any]) -> Any:  # noqa: ANN401 (JSON has no static type)
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
    """Raise if a text contains an escaped NUL or an escaped unpaired surrogate.

    Surrogates that stand for bytes that are not UTF-8 (PEP 383) are allowed.
    """
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
