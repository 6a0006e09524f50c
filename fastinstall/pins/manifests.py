"""Merge the lines of a pin into a TOML manifest; tomlkit keeps the rest of the file unchanged."""

import json
import re
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import PurePath
from typing import Any

from fastinstall.core.architecture import LABEL_PATTERN
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import parse_toml

BY = "# by `fastinstall guard pin`"
MARK = f"{BY}: holds back every other Pillow, security updates included"

_ELSEWHERE = re.compile(r"(?<!\r)\n")
_OURS = re.compile(
    rf"\+[a-z]+(\.({LABEL_PATTERN}))+|\bfastinstall/(wheels|channel)|/channel-[0-9a-f]{{12}}\b|'name': 'fastinstall'"
)
"""Matches part of any manifest entry that fastinstall writes, whichever build the entry names."""


def merge_lines(text: str, lines: str, *, file: PurePath) -> str:
    r"""Return a manifest with the lines of a pin added; they replace a pin to another build of fastinstall.

    Args:
        text: content of the manifest, in TOML.
        lines: the pin, in TOML. Its tables are merged into existing ones; its array items go before existing ones.
        file: path of the manifest, for messages.

    Raises:
        RefusedError: a key already has another value, or the edit would change other parts of the manifest.
        DocumentError: the manifest is not TOML.

    >>> print(merge_lines("[a]\nx = ['z']  # theirs\n", "[a]\nx = ['y']\n", file=PurePath("f.toml")), end="")
    [a]
    x = ['y','z']  # theirs
    """
    import tomlkit  # needed only to edit a manifest

    expected = parse_toml(text, file=file)
    _merge(expected, parse_toml(lines, file=file), file)
    whole = f"{text}\n" if text and not text.endswith("\n") else text
    document = tomlkit.parse(whole)
    _merge(document, tomlkit.parse(lines), file)
    edited = document.as_string()
    if "\r\n" in text and not _ELSEWHERE.search(text):
        edited = _ELSEWHERE.sub("\r\n", edited)
    if parse_toml(edited, file=file) != expected:
        raise RefusedError(f"{file}: the pin cannot be added without another change", hint="add its lines by hand")
    return text if edited == whole else edited


def quote_toml(text: str) -> str:
    """Return a text as a TOML string; JSON's escapes are valid in TOML."""
    return json.dumps(text, ensure_ascii=False)


def format_array(items: Iterable[str]) -> str:
    """Return TOML values as an array: `MARK` as a comment after the bracket, one item per line, and a final newline."""
    return "\n".join((f"[  {MARK}", *(f"    {item}," for item in items), "]\n"))


def _merge(into: MutableMapping[str, Any], wanted: Mapping[str, Any], file: PurePath, place: str = "") -> None:
    for key, value in wanted.items():
        there, name = into.get(key), f"{place}{key}"
        if isinstance(there, MutableMapping) and isinstance(value, Mapping):
            _merge(there, value, file, f"{name}.")
        elif isinstance(there, list) and isinstance(value, list):
            _merge_items(there, value)
        elif there is None or (there != value and _OURS.search(str(there))):
            into[key] = value
        elif there != value:
            raise RefusedError(
                f"{file.name} already sets {name}: {there}",
                hint=f"remove it, then run the command again: grep -n {quote(key)} {quote(file)}",
            )


def _merge_items(there: list[Any], wanted: list[Any]) -> None:
    for index in reversed(range(len(there))):
        if there[index] not in wanted and _OURS.search(str(there[index])):
            del there[index]
    for item in reversed(wanted):
        if item not in there:
            there.insert(0, item)
