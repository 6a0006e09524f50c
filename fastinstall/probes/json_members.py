"""The outermost members of a JSON object, one after the other, until enough of them were seen. Not a check of the rest.

A value is read by the parser of the standard library, so what is seen is what `json.loads` would give.
"""

import json
import re
from collections.abc import Collection
from typing import Any

_QUOTE = re.compile(r'\s*"')
_COLON = re.compile(r"\s*:\s*")
_EMPTY = re.compile(r"\s*}\s*\Z")
_NOTHING = re.compile(r"\s*\Z")
_NEXT = re.compile(r"\s*([,}])")
_read = json.JSONDecoder().raw_decode


def first_members(
    text: str, wanted: Collection[str], *, uncut: Collection[str] = (), end: str | None = None
) -> dict[str, Any]:
    """The wanted members of an object; the first one of a name counts.

    Args:
        text: a JSON document, or its beginning.
        wanted: names of members. Once all of them were seen, the rest is passed over; but it must end as an object
            does.
        uncut: those of them whose value is given as it is written, for whoever compares before reading.
        end: the last characters of the document, where the text is only its beginning.

    Raises:
        ValueError: it is no JSON object, as far as it was looked at.
        RecursionError: it is nested too deeply.
    """
    found: dict[str, Any] = {}
    place = _opening(text)
    if _EMPTY.match(text, place):
        return found
    while len(found) < len(wanted):
        key, start = _key(text, place)
        value, stop = _read(text, start)
        if key in wanted and key not in found:
            found[key] = text[start:stop] if key in uncut else value
        following = _expected(_NEXT, text, stop, "a comma or a brace")
        place = following.end()
        if following[1] == "}":
            _expected(_NOTHING, text, place, "nothing more")
            break
    if not (text if end is None else end).rstrip().endswith("}"):
        raise ValueError("it has no end: only a part of it was written or copied")
    return found


def _opening(text: str) -> int:
    opening = re.match(r"\s*{", text)
    if opening is None:
        raise ValueError("it is no JSON object")
    return opening.end()


def _key(text: str, place: int) -> tuple[str, int]:
    """A key, and where its value begins."""
    key, end = _read(text, _expected(_QUOTE, text, place, "a key").end() - 1)
    return key, _expected(_COLON, text, end, "a colon").end()


def _expected(pattern: re.Pattern[str], text: str, place: int, what: str) -> re.Match[str]:
    found = pattern.match(text, place)
    if found is None:
        raise ValueError(f"expected {what} at character {place}")
    return found
