"""Renders the reference page of the JSON documents from their dataclasses: which there are, and their keys.

Nothing is written here; `docs/reference/write_reference.py` does that.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from pathlib import PurePath

from fastinstall.model.reference import meanings, table
from fastinstall.model.schemas import SCHEMAS

_HEAD = """\
# JSON documents

This page is generated from the dataclasses of the model; do not edit it.

With `--json`, stdout bears one document and stderr everything else. Its key `schema` says which one it is, and in which
form: `fastinstall.plan/1`. A later fastinstall may add keys; where it changes or drops one, the number goes up
([decision](../adr/0029-schema-versions.md)). Tables show the outermost keys; the JSON Schema has all of them."""
_NAMES: Mapping[object, str] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    PurePath: "text",
    types.NoneType: "null",
}


def render_documents(printed_by: Mapping[str, str]) -> str:
    """Give the text of docs/reference/documents.md.

    Args:
        printed_by: each document that is printed, by its name, with the commands that do.
    """
    listed = ((f"`fastinstall.{name}/1`", _linked(name), commands) for name, commands in printed_by.items())
    overview = table(("schema", "keys", "printed by"), listed)
    sections = (_section(name, make) for name, make in SCHEMAS.items() if name in printed_by)
    return "\n\n".join((_HEAD, overview, *sections)) + "\n"


def _linked(name: str) -> str:
    return f"[below](#{name})" if name in SCHEMAS else "few, and told by their names"


def _section(name: str, make: Callable[[], object]) -> str:
    cls = _class(make)
    hints, told = typing.get_type_hints(cls), meanings(cls)
    rows = (
        (f"`{field.name}`", _kind(hints[field.name]), told.get(field.name, "").removesuffix("."))
        for field in dataclasses.fields(cls)
    )
    summary = (cls.__doc__ or "").strip().partition("\n\n")[0]
    return "\n\n".join(
        (f"## {name}", f"{summary} [JSON Schema](schemas/{name}.json)", table(("key", "value", "means"), rows))
    )


def _class(make: Callable[[], object]) -> type:
    """The dataclass that a schema is made of."""
    assert isinstance(make, partial)  # noqa: S101 (SCHEMAS are partials of json_schema)
    return typing.cast("type", make.args[0])


def _kind(hint: object) -> str:
    """A value's type in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(dict.fromkeys(_kind(each) for each in arguments))
    if origin is tuple:
        return f"list of {_kind(arguments[0])}"
    if arguments:
        return "object"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return "text"
    return _NAMES.get(hint, "object")
