"""Add values to a TOML text, and take them out again.

Text is inserted where that is possible, so that no other byte changes; tomlkit edits the rest (an array that exists
already, a table written with dots or braces). Either way the result is read again, and has to say what the original
said plus the additions.
"""

import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.core.values import immutable, tagged


@tagged("items")
@immutable
class ArrayAddition:
    """Strings that an array has to hold, made where there is none.

    Attributes:
        table: path of its table ("tool", "uv").
        key: of the array.
        items: the strings.
        first: they come before what is there.
    """

    table: tuple[str, ...]
    key: str
    items: tuple[str, ...]
    first: bool = False


@tagged("setting")
@immutable
class KeyAddition:
    """A key with a value, in a table that is made where it is missing.

    Attributes:
        table: path of the table.
        key: not there before.
        literal: the value in TOML.
    """

    table: tuple[str, ...]
    key: str
    literal: str


@tagged("element")
@immutable
class TableAddition:
    """One more table of an array of tables.

    Attributes:
        table: path of the array ("tool", "pdm", "source").
        literals: its keys, each with a value in TOML.
    """

    table: tuple[str, ...]
    literals: dict[str, str]


Addition = ArrayAddition | KeyAddition | TableAddition


def find_table(content: MutableMapping[str, Any], path: Iterable[str]) -> Any:  # noqa: ANN401 (a value of TOML)
    """Return the value at a path of parsed TOML, or None if the path does not exist."""
    found: Any = content
    for name in path:
        found = found.get(name) if isinstance(found, MutableMapping) else None
    return found


class ManifestFormError(ValueError):
    """A part of a manifest has another form than its tool reads."""


def read_table(content: dict[str, Any], path: Iterable[str]) -> dict[str, Any]:
    """Return the table at a path of parsed TOML, empty if there is none.

    Raises:
        ManifestFormError: something else stands there.
    """
    names = tuple(path)
    found: Any = content
    for count, name in enumerate(names, start=1):
        found = found.get(name, {})
        if not isinstance(found, dict):
            raise ManifestFormError(f"{'.'.join(names[:count])}: expected a table")
    return dict(found)


def read_array(content: dict[str, Any], path: Iterable[str]) -> list[Any]:
    """Return the array at a path of parsed TOML, empty if there is none.

    Raises:
        ManifestFormError: something else stands there.
    """
    *tables, last = path
    found = read_table(content, tables).get(last, [])
    if not isinstance(found, list):
        raise ManifestFormError(f"{'.'.join((*tables, last))}: expected an array")
    return found


def read_texts(content: dict[str, Any], path: Iterable[str]) -> tuple[str, ...]:
    """Return the strings of the array at a path of parsed TOML; what else is in it is no requirement.

    Raises:
        ManifestFormError: no array stands there.
    """
    return tuple(each for each in read_array(content, path) if isinstance(each, str))


def format_additions(additions: Iterable[Addition]) -> tuple[str, ...]:
    """Additions as lines of TOML that a person can paste."""
    found: list[str] = []
    for addition in additions:
        header = _format_header(addition)
        found += [] if header in found else [header]
        found += _format_body(addition)
    return tuple(found)


def _format_header(addition: Addition) -> str:
    name = ".".join(addition.table)
    return f"[[{name}]]" if isinstance(addition, TableAddition) else f"[{name}]"


def _format_body(addition: Addition) -> tuple[str, ...]:
    """The lines below the header."""
    if isinstance(addition, ArrayAddition):
        return (f"{addition.key} = [", *(f'    "{item}",' for item in addition.items), "]")
    if isinstance(addition, TableAddition):
        return tuple(f"{key} = {literal}" for key, literal in addition.literals.items())
    return tuple(f"{addition.key} = {addition.literal}".split("\n"))


def _parse_element(addition: TableAddition) -> dict[str, Any]:
    return {key: _parse_literal(literal) for key, literal in addition.literals.items()}


def _parse_literal(literal: str) -> Any:  # noqa: ANN401 (a value of TOML)
    return toml_data(f"value = {literal}\n")["value"]


MARK = "# by `fastinstall guard pin`: holds back every other Pillow, security updates included"
"""The comment above what is inserted."""

_EARLIER_MARK = "# by `fastinstall guard install --pin`; `fastinstall guard remove` takes it out"
"""What earlier versions wrote there."""


def add(text: str, additions: Iterable[Addition]) -> str:
    """Put additions into a TOML text.

    Raises:
        RefusedError: it cannot be done without a change to something else; the details are the lines to add by hand.
    """
    wanted = tuple(additions)
    for addition in wanted:
        edited = _insert(text, addition)
        if edited is None:
            raise RefusedError(
                "the manifest cannot be edited safely",
                hint="add the lines by hand, and lock the project",
                details=format_additions(wanted),
            )
        text = edited
    return text


def has_all(text: str, additions: Iterable[Addition]) -> bool:
    """Whether a TOML text says what these additions say."""
    content = toml_data(text)
    return all(_is_there(addition, find_table(content, addition.table)) for addition in additions)


def _is_there(addition: Addition, table: Any) -> bool:  # noqa: ANN401 (a value of TOML)
    if isinstance(addition, TableAddition):
        return isinstance(table, list) and _parse_element(addition) in table
    value = table.get(addition.key) if isinstance(table, MutableMapping) else None
    if isinstance(addition, KeyAddition):
        return bool(value == _parse_literal(addition.literal))
    return isinstance(value, list) and all(item in value for item in addition.items)


def list_pieces(text: str, additions: Iterable[Addition]) -> Iterator[str]:
    """Yield what `add` has inserted as it stands, if it has, in each form that it may have."""
    newline = _find_newline(text)
    for addition in additions:
        body = newline.join((MARK, *_format_body(addition), ""))
        whole = newline.join((MARK, _format_header(addition), *_format_body(addition), ""))
        yield from (body, whole, newline + whole)


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _insert(text: str, addition: Addition) -> str | None:
    """Return a text with an addition, made in the gentlest way that changes nothing else; None if there is none."""
    meant = toml_data(text)
    try:
        _apply(addition, meant)
    except (TypeError, AttributeError):
        return None  # something else than a table, or than an array, is in its place
    for place, piece in _list_pieces(text, addition):
        attempt = text[:place] + piece + text[place:]
        if _parse_or_none(attempt) == meant:
            return attempt
    if isinstance(addition, TableAddition):
        return None
    import tomlkit  # noqa: PLC0415 (only where a manifest is edited, and text alone does not do)

    document = tomlkit.parse(text)
    _apply(addition, document)
    edited = document.as_string()
    return edited if _parse_or_none(edited) == meant else None


def _apply(addition: Addition, content: MutableMapping[str, Any]) -> None:
    """Put an addition into parsed TOML, of tomllib or of tomlkit."""
    *parents, last = addition.table
    for name in parents:
        content = content.setdefault(name, {})
    if isinstance(addition, TableAddition):
        content.setdefault(last, []).append(_parse_element(addition))
        return
    table = content.setdefault(last, {})
    if isinstance(addition, KeyAddition):
        table[addition.key] = _parse_literal(addition.literal)
        return
    array = table.setdefault(addition.key, [])
    for index, item in enumerate(addition.items):
        if item not in array:
            array.insert(index if addition.first else len(array), item)


def _list_pieces(text: str, addition: Addition) -> Iterator[tuple[int, str]]:
    """Where it could be inserted as it stands: below what looks like its header, and with a header at the end."""
    newline = _find_newline(text)
    body = _format_body(addition)
    if not isinstance(addition, TableAddition):
        names = r"[ \t]*\.[ \t]*".join(rf"""["']?{re.escape(name)}["']?""" for name in addition.table)
        header = rf"^[ \t]*\[[ \t]*{names}[ \t]*\][ \t]*(?:#[^\n]*)?(?:\n|\r\n|\Z)"
        for found in re.finditer(header, text, re.MULTILINE):
            yield found.end(), ("" if found[0].endswith("\n") else newline) + newline.join((MARK, *body, ""))
    gap = "" if not text or text.endswith(newline * 2) else newline if text.endswith("\n") else newline * 2
    yield len(text), gap + newline.join((MARK, _format_header(addition), *body, ""))


def _parse_or_none(text: str) -> dict[str, Any] | None:
    try:
        return toml_data(text)
    except ValueError:
        return None


def withdraw(text: str, additions: Sequence[Addition], pieces: Iterable[str]) -> str:
    """The text without our additions, whatever else has changed in it since.

    Args:
        text: as it is now.
        additions: that `add` has put in.
        pieces: of `list_pieces`; one that is there as it stands is cut out, and no other byte changes.

    Raises:
        ValueError: it, or an addition, is not TOML.
    """
    for piece in reversed(tuple(pieces)):  # a later one may lie in an earlier one
        if text.count(piece) == 1:
            text = text.replace(piece, "")
    plain = toml_data(text)
    if any(_take_out(addition, plain) for addition in additions):
        import tomlkit  # noqa: PLC0415 (as in `_insert`)

        document = tomlkit.parse(text)
        for addition in additions:
            for path in _take_out(addition, document):
                _drop_empty(document, path)
        text = document.as_string()
    return re.sub(rf"^(?:{re.escape(MARK)}|{re.escape(_EARLIER_MARK)})\r?\n", "", text, flags=re.MULTILINE)


def _take_out(addition: Addition, content: MutableMapping[str, Any]) -> list[tuple[str, ...]]:
    """Remove what is there of an addition; the paths of what may be empty then, none if nothing was there."""
    table = find_table(content, addition.table)
    if isinstance(addition, TableAddition):
        if not isinstance(table, list) or _parse_element(addition) not in table:
            return []
        table.remove(_parse_element(addition))
        return [addition.table]
    if not isinstance(table, MutableMapping) or addition.key not in table:
        return []
    value = table[addition.key]
    if isinstance(addition, KeyAddition):
        if value != _parse_literal(addition.literal):
            return []
        del table[addition.key]
        return [addition.table]
    ours = [item for item in addition.items if isinstance(value, list) and item in value]
    for item in ours:
        value.remove(item)
    return [(*addition.table, addition.key), addition.table] if ours else []


def _drop_empty(document: MutableMapping[str, Any], path: tuple[str, ...]) -> None:
    """Drop what has nothing left in it, unless a comment stands there."""
    *parents, last = path
    left = find_table(document, path)
    if not left and "#" not in left.as_string():
        del find_table(document, parents)[last]
