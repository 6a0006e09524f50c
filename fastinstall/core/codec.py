"""Convert values to JSON-ready data and documents, and back.

Decoding is strict: an unknown key, a missing key or a wrong type raises a `DocumentError` with the file and the dotted
path of the key. If a field may have one of several dataclasses, the key "kind" says which; its value is the tag that
`tagged` gives to the class. Documents that another version of the tool may have written are read by
`model.stored_documents`, which allows unknown keys.
"""

import dataclasses
import hashlib
import json
import types
import typing
from datetime import date
from enum import Enum
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from fastinstall.core.errors import DocumentError
from fastinstall.core.values import T, get_hints, is_required, is_tagged, tag_of

_LARGEST = 1 << 63

_SHOWN = 80
"""Maximum number of characters of a value that a message quotes."""


def encode(value: object) -> Any:  # noqa: ANN401, PLR0911 (JSON has no static type; one return per kind of value)
    """Convert a value of the model to dicts, lists, strings and numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = {each.name: encode(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return {"kind": tag_of(type(value)), **items} if is_tagged(type(value)) else items
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def document(name: str, value: object) -> dict[str, Any]:
    """Encode `value` as a document, whose first key is `schema: "fastinstall.NAME/1"`."""
    return {"schema": _name_schema(name), **encode(value)}


def dump(data: object) -> str:
    """Return data as JSON text: indented by two spaces, keys in their order, with a final newline."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def digest(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    canonical = json.dumps(encode(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()


def decode(cls: type[T], data: object, *, file: PurePath | str, strict: bool = True) -> T:
    """Read a value of type `cls` from parsed JSON or TOML.

    Args:
        cls: a dataclass of the model.
        data: the result of the parser.
        file: the source of the data, for messages.
        strict: whether to refuse keys that `cls` does not have; if False, such keys are ignored.

    Raises:
        DocumentError: an unknown or missing key, or a value of the wrong type.
    """
    return typing.cast("T", _decode(cls, data, _Place(file, "", strict)))


def open_document(cls: type[T], name: str, data: object, *, file: PurePath | str) -> T:
    """Read a value of type `cls` from a document that `document` has encoded.

    Raises:
        DocumentError: the document has another schema or schema number, or `decode` cannot read it.
    """
    if not isinstance(data, dict):
        raise DocumentError(file, "", "expected a table of keys at the top")
    if data.get("schema") != _name_schema(name):
        found = format_value(data.get("schema"))
        raise DocumentError(file, "schema", f"expected {_name_schema(name)!r}, found {found}")
    return decode(cls, {key: item for key, item in data.items() if key != "schema"}, file=file)


def format_value(value: object) -> str:
    """Return the `repr` of a value for a message, cut off if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _name_schema(name: str) -> str:
    return f"fastinstall.{name}/1"


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    file: PurePath | str
    key: str
    strict: bool

    def below(self, name: object) -> "_Place":
        part = f"[{name}]" if isinstance(name, int) else str(name)
        joined = self.key + part if isinstance(name, int) or not self.key else f"{self.key}.{part}"
        return _Place(self.file, joined, self.strict)

    def wrong(self, problem: str) -> DocumentError:
        return DocumentError(self.file, self.key, problem)


def _decode(annotation: Any, data: object, place: _Place) -> object:  # noqa: ANN401
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(typing.get_args(annotation), data, place)
    if origin is tuple:
        return _decode_tuple(typing.get_args(annotation)[0], data, place)
    if origin is dict:
        return _decode_dict(typing.get_args(annotation)[1], data, place)
    if dataclasses.is_dataclass(annotation):
        return _decode_dataclass(typing.cast("type", annotation), data, place)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _decode_enum(annotation, data, place)
    return _decode_scalar(annotation, data, place)


def _decode_union(members: tuple[Any, ...], data: object, place: _Place) -> object:
    rest = [member for member in members if member is not type(None)]
    if data is None and len(rest) < len(members):
        return None
    if len(rest) == 1:
        return _decode(rest[0], data, place)
    by_kind = {tag_of(member): member for member in rest}
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in by_kind:
        raise place.below("kind").wrong(f"expected one of {', '.join(sorted(by_kind))}")
    fields = {key: item for key, item in data.items() if key != "kind"}
    return _decode_dataclass(by_kind[kind], fields, place)


def _decode_tuple(item: Any, data: object, place: _Place) -> tuple[object, ...]:  # noqa: ANN401
    if not isinstance(data, list | tuple):
        raise place.wrong(f"expected a list, found {_name_kind(data)}")
    if item is str and all(isinstance(entry, str) for entry in data):
        return tuple(data)  # fast path: a report may cover thousands of hosts, each with a hundred CPU flags
    return tuple(_decode(item, entry, place.below(index)) for index, entry in enumerate(data))


def _decode_dict(item: Any, data: object, place: _Place) -> dict[str, object]:  # noqa: ANN401
    if not isinstance(data, dict):
        raise place.wrong(f"expected a table, found {_name_kind(data)}")
    return {str(key): _decode(item, entry, place.below(key)) for key, entry in data.items()}


def _decode_dataclass(cls: type, data: object, place: _Place) -> object:
    if not isinstance(data, dict):
        raise place.wrong(f"expected a table, found {_name_kind(data)}")
    hints = get_hints(cls)
    for key in data:
        if place.strict and key not in hints:
            raise place.below(key).wrong(f"unknown key; known here: {', '.join(hints)}")
    values = {name: _decode(hint, data[name], place.below(name)) for name, hint in hints.items() if name in data}
    for each in dataclasses.fields(cls):
        if each.name not in values and is_required(each):
            raise place.below(each.name).wrong("missing")
    return cls(**values)


def _decode_enum(cls: type[Enum], data: object, place: _Place) -> Enum:
    try:
        return cls(data)
    except ValueError:
        known = ", ".join(str(member.value) for member in cls)
        raise place.wrong(f"{format_value(data)} is not one of {known}") from None


def _decode_scalar(annotation: Any, data: object, place: _Place) -> object:  # noqa: ANN401
    if annotation in (int, float) and isinstance(data, int | float) and not -_LARGEST < data < _LARGEST:
        raise place.wrong("the number is too large, or not a number")
    if annotation is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if annotation in (Path, PurePath) and isinstance(data, str):
        return Path(data) if annotation is Path else PurePosixPath(data)
    if annotation is date and isinstance(data, str):
        return _decode_date(data, place)
    expected = annotation if isinstance(annotation, type) else object
    if not isinstance(data, expected) or (annotation is int and isinstance(data, bool)):
        raise place.wrong(f"expected {_NAMES.get(expected, expected.__name__)}, found {_name_kind(data)}")
    return data


def _decode_date(data: str, place: _Place) -> date:
    try:
        return date.fromisoformat(data)
    except ValueError:
        raise place.wrong(f"expected a date like 2026-11-21, found {format_value(data)}") from None


_NAMES: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
    date: "a date",
    type(None): "nothing",
}


def _name_kind(data: object) -> str:
    return _NAMES.get(type(data), type(data).__name__)
