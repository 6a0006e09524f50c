"""Reads as much of YAML as files of conda's world have, line by line. Pure.

It relies on what conda-lock, pixi and `conda env export` write, and people do: block style, a key and its value on one
line, lists of scalars or of such mappings. A list in brackets is read where it stands on the line of its key. Anchors,
tags and values of several lines are not.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import PurePath

from fastinstall.errors import DocumentError
from fastinstall.model.immutable import immutable

_KEY = re.compile(r"(?P<indent>\s*)(?P<key>[\w.@/-]+|\"[^\"]*\"|'[^']*')\s*:(?:\s+(?P<value>.*))?")
_DASH = re.compile(r"(?P<before>\s*-\s+)(?P<rest>.*)")
_COMMENT = re.compile(r"(^|\s)#.*$")


@immutable
class Row:
    """A line with something on it.

    Attributes:
        number: from 1.
        text: without comment.
    """

    number: int
    text: str

    @property
    def indent(self) -> int:
        """How many blanks are in front."""
        return len(self.text) - len(self.text.lstrip())


@immutable
class Item:
    """One item of a list.

    Attributes:
        line: where it begins, from 1.
        scalar: its text, where it is no mapping.
        keys: its own keys with their values.
        lines: of its keys.
        below: what is nested in it.
    """

    line: int
    scalar: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    below: tuple[Row, ...] = ()


def section(text: str, key: str, file: PurePath, *, required: bool = True) -> tuple[Row, ...]:
    """What stands below a key at the top.

    Args:
        text: of the file.
        key: at the top.
        file: for messages.
        required: False takes a key that is not there for one with nothing below it.

    Raises:
        DocumentError: the key is not there, or a tab indents a line, which YAML forbids.
    """
    rows = tuple(_rows(text, file))
    start = next((place for place, row in enumerate(rows) if _is_top(row, key)), None)
    if start is None and required:
        raise DocumentError(file, key, "missing: expected it at the top of the file")
    if start is None:
        return ()
    found = _KEY.fullmatch(rows[start].text)
    bracketed = tuple(_bracketed(rows[start].number, (found["value"] if found is not None else "") or ""))
    return bracketed or tuple(_block(rows[start + 1 :]))


def items(rows: Iterable[Row]) -> Iterator[Item]:
    """The items of the list that begins with the first row; none where that is no list."""
    remaining = list(rows)
    while remaining and (head := _DASH.fullmatch(remaining[0].text)) is not None:
        first = remaining.pop(0)
        column = len(head["before"])
        rest: list[Row] = []
        while remaining and remaining[0].indent > first.indent:
            rest.append(remaining.pop(0))
        yield _item(Row(number=first.number, text=" " * column + head["rest"]), rest, column)


def unquoted(text: str) -> str:
    """A scalar without its quotes."""
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"" else bare


def _rows(text: str, file: PurePath) -> Iterator[Row]:
    for number, physical in enumerate(text.splitlines(), start=1):
        if physical.startswith("\t"):
            raise DocumentError(file, f"line {number}", "a tab cannot indent YAML")
        line = _COMMENT.sub("", physical).rstrip()
        if line and line != "---":
            yield Row(number=number, text=line)


def _is_top(row: Row, key: str) -> bool:
    found = _KEY.fullmatch(row.text)
    return found is not None and not found["indent"] and unquoted(found["key"]) == key


def _block(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows up to the next key at the top; a list may begin there as well."""
    for row in rows:
        if not row.indent and not row.text.startswith("-"):
            return
        yield row


def _bracketed(number: int, value: str) -> Iterator[Row]:
    if value.startswith("[") and value.endswith("]"):
        for each in filter(None, re.split(r",\s+", value[1:-1].strip())):
            yield Row(number=number, text=f"- {each.strip()}")


def _item(first: Row, rest: list[Row], column: int) -> Item:
    if _KEY.fullmatch(first.text) is None:
        return Item(line=first.number, scalar=unquoted(first.text))
    keys: dict[str, str] = {}
    lines: dict[str, int] = {}
    below: list[Row] = []
    for row in (first, *rest):
        found = _KEY.fullmatch(row.text)
        if row.indent == column and found is not None:
            keys[unquoted(found["key"])] = unquoted(found["value"] or "")
            lines[unquoted(found["key"])] = row.number
        else:
            below.append(row)
    return Item(line=first.number, keys=keys, lines=lines, below=tuple(below))
