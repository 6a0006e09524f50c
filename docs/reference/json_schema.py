"""Derive JSON Schemas (2020-12) from dataclasses."""

import dataclasses
import types
import typing
from dataclasses import fields
from datetime import date
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core.values import (
    get_hints,
    is_required,
    is_tagged,
    tag_of,
)


def json_schema(cls: type, *, name: str | None = None, effect: type | None = None) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a dataclass.

    Args:
        cls: the dataclass.
        name: name of the document that the dataclass describes; None if the dataclass is only part of documents.
        effect: a dataclass whose fields are added as optional properties; only verbs that change something print them.
    """
    definitions: dict[str, Any] = {}
    reference = _make_schema(cls, definitions)
    if name is not None:
        own = definitions[cls.__name__]
        own["properties"] = {"schema": {"const": f"fastinstall.{name}/1"}, **own["properties"]}
        own["required"] = ["schema", *own["required"]]
        if effect is not None:
            _make_schema(effect, definitions)
            own["properties"] |= definitions.pop(effect.__name__)["properties"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **reference, "$defs": definitions}


def _make_schema(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_make_member_schema(member, arguments, definitions) for member in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _make_schema(arguments[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _make_schema(arguments[1], definitions)}
    if dataclasses.is_dataclass(annotation):
        return _make_dataclass_schema(typing.cast("type", annotation), definitions)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {"enum": [member.value for member in annotation]}
    return dict(_SCALARS[annotation])


def _make_member_schema(member: Any, members: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    if member is type(None):
        return {"type": "null"}
    tagged = len([other for other in members if other is not type(None)]) > 1
    schema = _make_schema(member, definitions)
    if tagged:
        return {"allOf": [schema], "properties": {"kind": {"const": tag_of(member)}}, "required": ["kind"]}
    return schema


def _make_dataclass_schema(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    name = cls.__name__
    if name not in definitions:
        definitions[name] = {}
        tagged = is_tagged(cls)
        properties = {key: _make_schema(hint, definitions) for key, hint in get_hints(cls).items()}
        definitions[name] = {
            "type": "object",
            "description": (cls.__doc__ or "").partition("\n")[0],
            "properties": {"kind": {"const": tag_of(cls)}, **properties} if tagged else properties,
            "required": [each.name for each in fields(cls) if is_required(each)],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    date: {"type": "string", "format": "date"},
    Path: {"type": "string"},
    PurePath: {"type": "string"},
}
