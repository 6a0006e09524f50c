"""What we add to a TOML text: values, and how each is written. Pure."""

from collections.abc import Iterable
from typing import Any

from fastinstall.model.immutable import immutable, tagged
from fastinstall.model.parsing import toml_data


@tagged("items")
@immutable
class Items:
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
class Setting:
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
class Element:
    """One more table of an array of tables.

    Attributes:
        table: path of the array ("tool", "pdm", "source").
        literals: its keys, each with a value in TOML.
    """

    table: tuple[str, ...]
    literals: dict[str, str]


Addition = Items | Setting | Element


def holds(content: dict[str, Any], addition: Addition) -> bool:
    """Whether parsed TOML has any of what an addition puts there."""
    if isinstance(addition, Element):
        found = table_at(content, addition.table)
        return isinstance(found, list) and element_of(addition) in found
    table = table_at(content, addition.table)
    value = table.get(addition.key) if isinstance(table, dict) else None
    if isinstance(addition, Items):
        return isinstance(value, list) and any(item in value for item in addition.items)
    return value is not None and value == value_of(addition.literal)


def table_at(content: dict[str, Any], path: Iterable[str]) -> Any:  # noqa: ANN401 (a value of TOML)
    """Return the value at a path of parsed TOML, or None if the path does not exist."""
    found: Any = content
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def lines(additions: Iterable[Addition]) -> tuple[str, ...]:
    """Additions as lines of TOML that a person can paste."""
    found: list[str] = []
    for addition in additions:
        header = header_of(addition)
        found += [] if header in found else [header]
        found += body_of(addition)
    return tuple(found)


def header_of(addition: Addition) -> str:
    """The header of its table ("[tool.uv]")."""
    name = ".".join(addition.table)
    return f"[[{name}]]" if isinstance(addition, Element) else f"[{name}]"


def body_of(addition: Addition) -> tuple[str, ...]:
    """The lines below the header."""
    if isinstance(addition, Items):
        return (f"{addition.key} = [", *(f'    "{item}",' for item in addition.items), "]")
    if isinstance(addition, Element):
        return tuple(f"{key} = {literal}" for key, literal in addition.literals.items())
    return tuple(f"{addition.key} = {addition.literal}".split("\n"))


def element_of(addition: Element) -> dict[str, Any]:
    """What parsed TOML has of an element."""
    return {key: value_of(literal) for key, literal in addition.literals.items()}


def value_of(literal: str) -> Any:  # noqa: ANN401 (a value of TOML)
    """What a literal of TOML means."""
    return toml_data(f"value = {literal}\n")["value"]
