"""Add values to a TOML text, and take them out again.

Text is inserted where that is possible, so that no other byte changes; tomlkit edits the rest (an array that exists
already, a table written with dots or braces). Either way the result is read again, and has to say what the original
said plus the additions.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.core.values import immutable, tagged

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


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


def has_addition(content: dict[str, Any], addition: Addition) -> bool:
    """Whether parsed TOML has any of what an addition puts there."""
    if isinstance(addition, TableAddition):
        found = find_table(content, addition.table)
        return isinstance(found, list) and build_element(addition) in found
    table = find_table(content, addition.table)
    value = table.get(addition.key) if isinstance(table, dict) else None
    if isinstance(addition, ArrayAddition):
        return isinstance(value, list) and any(item in value for item in addition.items)
    return value is not None and value == parse_literal(addition.literal)


def find_table(content: dict[str, Any], path: Iterable[str]) -> Any:  # noqa: ANN401 (a value of TOML)
    """Return the value at a path of parsed TOML, or None if the path does not exist."""
    found: Any = content
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
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
        header = format_header(addition)
        found += [] if header in found else [header]
        found += format_body(addition)
    return tuple(found)


def format_header(addition: Addition) -> str:
    """The header of its table ("[tool.uv]")."""
    name = ".".join(addition.table)
    return f"[[{name}]]" if isinstance(addition, TableAddition) else f"[{name}]"


def format_body(addition: Addition) -> tuple[str, ...]:
    """The lines below the header."""
    if isinstance(addition, ArrayAddition):
        return (f"{addition.key} = [", *(f'    "{item}",' for item in addition.items), "]")
    if isinstance(addition, TableAddition):
        return tuple(f"{key} = {literal}" for key, literal in addition.literals.items())
    return tuple(f"{addition.key} = {addition.literal}".split("\n"))


def build_element(addition: TableAddition) -> dict[str, Any]:
    """What parsed TOML has of an element."""
    return {key: parse_literal(literal) for key, literal in addition.literals.items()}


def parse_literal(literal: str) -> Any:  # noqa: ANN401 (a value of TOML)
    """What a literal of TOML means."""
    return toml_data(f"value = {literal}\n")["value"]


MARK = "# by `fastinstall guard install --pin`; `fastinstall guard remove` takes it out"
"""The comment above what is inserted."""


@immutable
class EditedManifest:
    """A text with our additions.

    Attributes:
        text: all of it.
        pieces: what was inserted as it stands; not what went into something that was there.
    """

    text: str
    pieces: tuple[str, ...]


def add(text: str, additions: Iterable[Addition]) -> EditedManifest:
    """Put additions into a TOML text.

    Raises:
        RefusedError: it cannot be done without a change to something else; the details are the lines to add by hand.
    """
    wanted = tuple(additions)
    pieces: list[str] = []
    for addition in wanted:
        done = next(_try_insertions(text, addition), None)
        if done is None:
            raise RefusedError(
                "the manifest is written in a way that cannot be edited safely; nothing was changed",
                hint="add the lines by hand, and lock",
                details=format_additions(wanted),
            )
        text = done.text
        pieces += done.pieces
    return EditedManifest(text=text, pieces=tuple(pieces))


def withdraw(text: str, additions: Iterable[Addition], pieces: Iterable[str]) -> str:
    """The text without our additions, whatever else has changed in it since.

    Args:
        text: as it is now.
        additions: that `add` has put in.
        pieces: of its `EditedManifest`; one that is there as it stands is cut out, and no other byte changes.
    """
    for piece in reversed(tuple(pieces)):  # a later one may lie in an earlier one
        if text.count(piece) == 1:
            text = text.replace(piece, "")
    left = [addition for addition in additions if has_addition(toml_data(text), addition)]
    if left:
        document = _parse_toml(text)
        for addition in left:
            _take_out(document, addition)
        text = document.as_string()
    return re.sub(rf"^{re.escape(MARK)}\r?\n", "", text, flags=re.MULTILINE)


def _try_insertions(text: str, addition: Addition) -> Iterator[EditedManifest]:
    """The ways to get an addition in that change nothing else, the gentlest first."""
    try:
        meant = _compute_expected_data(text, addition)
    except (TypeError, AttributeError):
        return  # something else than a table, or than an array, is in its place
    for attempt in (*_list_insertions(text, addition), _block(text, addition)):
        if _parse_toml_or_none(attempt.text) == meant:
            yield attempt
    edited = _insert_addition(text, addition)
    if _parse_toml_or_none(edited) == meant:
        yield EditedManifest(text=edited, pieces=())


def _parse_toml_or_none(text: str) -> dict[str, Any] | None:
    try:
        return toml_data(text)
    except ValueError:
        return None


def _list_insertions(text: str, addition: Addition) -> Iterator[EditedManifest]:
    """The addition below each line that looks like the header of its table."""
    if isinstance(addition, TableAddition):
        return
    newline = _detect_newline(text)
    piece = newline.join((MARK, *format_body(addition), ""))
    names = r"[ \t]*\.[ \t]*".join(rf"""["']?{re.escape(name)}["']?""" for name in addition.table)
    for found in re.finditer(rf"^[ \t]*\[[ \t]*{names}[ \t]*\][ \t]*(?:#[^\n]*)?(?:\n|\r\n|\Z)", text, re.MULTILINE):
        start = "" if found[0].endswith("\n") else newline
        yield EditedManifest(text=text[: found.end()] + start + piece + text[found.end() :], pieces=(start + piece,))


def _block(text: str, addition: Addition) -> EditedManifest:
    """The addition with a header of its own, at the end."""
    newline = _detect_newline(text)
    gap = "" if not text or text.endswith(newline * 2) else newline if text.endswith("\n") else newline * 2
    piece = gap + newline.join((MARK, format_header(addition), *format_body(addition), ""))
    return EditedManifest(text=text + piece, pieces=(piece,))


def _insert_addition(text: str, addition: Addition) -> str:
    """The addition put in by tomlkit."""
    document = _parse_toml(text)
    if isinstance(addition, TableAddition):
        return text
    table = find_table(document, addition.table)
    if table is None:
        return text
    if isinstance(addition, KeyAddition):
        table[addition.key] = parse_literal(addition.literal)
    elif addition.key in table:
        array = table[addition.key]
        for index, item in enumerate(addition.items):
            if item not in array:
                array.insert(index if addition.first else len(array), item)
    else:
        table[addition.key] = list(addition.items)
    return document.as_string()


def _detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _take_out(document: "TOMLDocument", addition: Addition) -> None:
    if isinstance(addition, TableAddition):
        elements = find_table(document, addition.table)
        elements.remove(build_element(addition))
        _drop_empty(document, addition.table)
        return
    table = find_table(document, addition.table)
    if isinstance(addition, ArrayAddition):
        array = table[addition.key]
        for item in addition.items:
            if item in array:
                array.remove(item)
        _drop_empty(document, (*addition.table, addition.key))
    else:
        del table[addition.key]
    _drop_empty(document, addition.table)


def _drop_empty(document: "TOMLDocument", path: tuple[str, ...]) -> None:
    """Drop what has nothing left in it, unless a comment stands there."""
    *parents, last = path
    left = find_table(document, path)
    if not left and "#" not in left.as_string():
        del find_table(document, parents)[last]


def _compute_expected_data(text: str, addition: Addition) -> dict[str, Any]:
    content = toml_data(text)
    above = content
    *parents, last = addition.table
    for name in parents:
        above = above.setdefault(name, {})
    if isinstance(addition, TableAddition):
        above.setdefault(last, []).append(build_element(addition))
        return content
    table = above.setdefault(last, {})
    if isinstance(addition, ArrayAddition):
        there = table.setdefault(addition.key, [])
        added = [item for item in addition.items if item not in there]
        table[addition.key] = [*added, *there] if addition.first else [*there, *added]
    else:
        table[addition.key] = parse_literal(addition.literal)
    return content


def _parse_toml(text: str) -> "TOMLDocument":
    import tomlkit  # noqa: PLC0415 (only where a manifest is edited, and text alone does not do)

    return tomlkit.parse(text)
