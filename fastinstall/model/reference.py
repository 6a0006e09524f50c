"""Renders the reference page of recipes from the dataclasses of the model.

Nothing is written here; `docs/reference/write_reference.py` does that.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterable, Iterator
from datetime import date
from enum import Enum

from fastinstall.model.advisory import AdvisoryList
from fastinstall.model.codec import encode, published_name
from fastinstall.model.recipe import Recipe

_HEAD = """\
# Recipes

This page is generated from the dataclasses of the model; do not edit it.

A recipe is one TOML file in `recipes/`, or in the directory that `FASTINSTALL_RECIPES` names. An unknown key is an
error that names file and key: `fastinstall recipes check FILE.toml`. JSON Schemas: [recipe](schemas/recipe.json),
[advisories](schemas/advisories.json).
"""
_TYPES: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "true or false", date: "date"}


def render_recipes() -> str:
    """Give the text of docs/reference/recipes.md."""
    found: dict[type, None] = {}
    for cls in (Recipe, AdvisoryList):
        _collect(cls, found)
    return "\n".join((_HEAD, *(_section(cls) for cls in found)))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown; a "|" inside a cell is escaped."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def meanings(cls: type) -> dict[str, str]:
    """What each field is, from a docstring's section "Attributes", or from its only sentence."""
    text = inspect.cleandoc(cls.__doc__ or "")
    entries = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", text.partition("Attributes:\n")[2], re.MULTILINE)
    found = {name: re.sub(r"\s+", " ", meaning) for name, meaning in entries}
    return found or {field.name: text.rpartition(": ")[2] for field in dataclasses.fields(cls)}


def _collect(cls: type, found: dict[type, None]) -> None:
    """A dataclass and those that its fields hold, each once, the outermost first."""
    if cls in found:
        return
    found[cls] = None
    for hint in typing.get_type_hints(cls).values():
        for inner in _inner(hint):
            if dataclasses.is_dataclass(inner):
                _collect(typing.cast("type", inner), found)


def _inner(hint: object) -> Iterator[object]:
    arguments = typing.get_args(hint)
    yield from (part for argument in arguments for part in _inner(argument)) if arguments else (hint,)


def _section(cls: type) -> str:
    hints, told = typing.get_type_hints(cls), meanings(cls)
    rows = (
        (f"`{field.name}`", _type(hints[field.name]), _default(field), told[field.name].removesuffix("."))
        for field in dataclasses.fields(cls)
    )
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
    return f"## {_title(cls)}\n\n{summary}\n\n{table(('key', 'value', 'default', 'means'), rows)}\n"


def _type(hint: object) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _type(arguments[0])
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"table: name to {_type(arguments[1])}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    if dataclasses.is_dataclass(hint):
        title = _title(typing.cast("type", hint))
        return f"[{title}](#{title.lower().replace(' ', '-')})"
    return _TYPES[hint]


def _default(field: "dataclasses.Field[object]") -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    value = encode(field.default)
    if value in (None, "", []):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _title(cls: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", published_name(cls)).capitalize()
