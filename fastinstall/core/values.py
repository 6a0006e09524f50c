"""Immutable values, their conversion to JSON-ready data and back, and their JSON Schemas.

Decoding is strict: an unknown key, a missing key or a wrong type is a `DocumentError` that names the file and the
dotted path of the key. A union of dataclasses is told apart by the key "kind", which holds the tag that `tagged` gives
to each class. Documents that another version of the tool may have written are read by `find_stored_file`, which allows
unknown keys.

`@immutable` makes what `@dataclass(frozen=True, slots=True, kw_only=True)` would make, at a tenth of the price.
`dataclasses` compiles six methods for each class, half a millisecond, whenever the program starts, and doctor needs
more than a hundred classes. Here the methods are written once for all classes, and read the fields at run time. The
result is a dataclass: `fields`, `replace`, `field` and `is_dataclass` work on it. It has no `__post_init__`, no
`ClassVar` and no inheritance, which none of our values needs.
"""

import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from datetime import date
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import PurePath, PurePosixPath
from typing import Any, TypeVar, dataclass_transform

from fastinstall.core.errors import DocumentError

T = TypeVar("T")

_LARGEST = 1 << 63
_SHOWN = 80
"""Characters of a value that a message repeats."""


def encode(value: object) -> Any:  # noqa: ANN401, PLR0911 (JSON is what it is; one return for each of its kinds)
    """Turn a value of the model into dicts, lists, strings and numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value)
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
    """Encode `value` as a document of ours, with `schema: "fastinstall.NAME/1"` in front."""
    return {"schema": f"fastinstall.{name}/1", **encode(value)}


def dump(data: object) -> str:
    """JSON as we write it: two spaces, keys in the order of the fields, a final newline."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def digest(value: object) -> str:
    """A sha256 over the canonical JSON of a value."""
    canonical = json.dumps(encode(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()


def decode(cls: type[T], data: object, *, file: PurePath | str, key: str = "", strict: bool = True) -> T:
    """Read a value of type `cls` from parsed JSON or TOML.

    Args:
        cls: a dataclass of the model.
        data: what the parser gave.
        file: where it came from, for messages.
        key: path of `data` inside the file, for messages.
        strict: refuse keys that `cls` does not have; else they are passed over.

    Raises:
        DocumentError: an unknown or missing key, or a value of the wrong type.
    """
    return typing.cast("T", _decode(cls, data, _Place(file, key, strict)))


def open_document(cls: type[T], name: str, data: object, *, file: PurePath | str) -> T:
    """Read what `document` wrote; another schema or another number of it is a `DocumentError`."""
    if not isinstance(data, dict):
        raise DocumentError(file, "", "expected a table of keys at the top")
    expected = f"fastinstall.{name}/1"
    if data.get("schema") != expected:
        raise DocumentError(file, "schema", f"expected {expected!r}, found {format_value(data.get('schema'))}")
    return decode(cls, {key: item for key, item in data.items() if key != "schema"}, file=file)


def json_schema(cls: type, *, name: str | None = None) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a dataclass; with `name`, of its document."""
    definitions: dict[str, Any] = {}
    reference = _make_schema(cls, definitions)
    if name is not None:
        own = definitions[published_name(cls)]
        own["properties"] = {"schema": {"const": f"fastinstall.{name}/1"}, **own["properties"]}
        own["required"] = ["schema", *own["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **reference, "$defs": definitions}


def kind_of(cls: type) -> str:
    """The tag of a member of a union, which `tagged` gave it ("system-packages")."""
    tag: str = cls.TAG  # type: ignore[attr-defined]  # a class without one cannot be told apart
    return tag


def published_name(cls: type) -> str:
    """The name of a class in published schemas: its own, or the one that `published_as` keeps."""
    return str(getattr(cls, "PUBLISHED_AS", cls.__name__))


def format_value(value: object) -> str:
    """A value as a message repeats it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _is_tagged(cls: type) -> bool:
    """Whether a class is a member of a union."""
    return hasattr(cls, "TAG")


def _encode_fields(value: Any) -> dict[str, Any]:  # noqa: ANN401
    items = {get_key(each): encode(getattr(value, each.name)) for each in fields(value)}
    if _is_tagged(type(value)):
        return {"kind": kind_of(type(value)), **items}
    return items


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
    by_kind = {kind_of(member): member for member in rest}
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in by_kind:
        raise place.below("kind").wrong(f"expected one of {', '.join(sorted(by_kind))}")
    fields = {key: item for key, item in data.items() if key != "kind"}
    return _decode_dataclass(by_kind[kind], fields, place)


def _decode_tuple(item: Any, data: object, place: _Place) -> tuple[object, ...]:  # noqa: ANN401
    if not isinstance(data, list | tuple):
        raise place.wrong(f"expected a list, found {_name_kind(data)}")
    if item is str and all(isinstance(entry, str) for entry in data):
        return tuple(data)  # a CPU has a hundred flags, and thousands of hosts have one each
    return tuple(_decode(item, entry, place.below(index)) for index, entry in enumerate(data))


def _decode_dict(item: Any, data: object, place: _Place) -> dict[str, object]:  # noqa: ANN401
    if not isinstance(data, dict):
        raise place.wrong(f"expected a table, found {_name_kind(data)}")
    return {str(key): _decode(item, entry, place.below(key)) for key, entry in data.items()}


def _decode_dataclass(cls: type, data: object, place: _Place) -> object:
    if not isinstance(data, dict):
        raise place.wrong(f"expected a table, found {_name_kind(data)}")
    hints, keys = _get_hints(cls), _get_keys(cls)
    for key in data:
        if place.strict and key not in keys:
            raise place.below(key).wrong(f"unknown key; known here: {', '.join(keys)}")
    values = {name: _decode(hints[name], data[key], place.below(key)) for key, name in keys.items() if key in data}
    for each in dataclasses.fields(cls):
        if each.name not in values and _is_required(each):
            raise place.below(get_key(each)).wrong("missing")
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
    if annotation is PurePath and isinstance(data, str):
        return PurePosixPath(data)
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


@cache
def _get_hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


@cache
def _get_keys(cls: type) -> dict[str, str]:
    """The names of the fields of a class, by their keys in documents."""
    return {get_key(each): each.name for each in fields(cls)}


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


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
        return {"allOf": [schema], "properties": {"kind": {"const": kind_of(member)}}, "required": ["kind"]}
    return schema


def _make_dataclass_schema(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    name = published_name(cls)
    if name not in definitions:
        definitions[name] = {}
        tagged = _is_tagged(cls)
        hints = _get_hints(cls)
        properties = {key: _make_schema(hints[name], definitions) for key, name in _get_keys(cls).items()}
        definitions[name] = {
            "type": "object",
            "description": (cls.__doc__ or "").partition("\n")[0],
            "properties": {"kind": {"const": kind_of(cls)}, **properties} if tagged else properties,
            "required": [get_key(each) for each in fields(cls) if _is_required(each)],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    date: {"type": "string", "format": "date"},
    PurePath: {"type": "string"},
}


_assign = object.__setattr__
_KEY = "key"


def keyed(key: str, **options: Any) -> Any:  # noqa: ANN401 (as `dataclasses.field`)
    """Return a field that has another name in documents than in the program.

    Args:
        key: its name in documents; part of their format, and never changed.
        options: of `dataclasses.field`.
    """
    return field(metadata={_KEY: key}, **options)


def get_key(each: "Field[Any]") -> str:
    """Return the name that documents have for a field."""
    return str(each.metadata.get(_KEY, each.name))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, keyed))
def immutable(cls: type[T]) -> type[T]:
    """Make a class a value: its annotated names are fields, given by keyword when it is made, and never changed."""
    for name, method in _METHODS.items():
        setattr(cls, name, method)
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True, match_args=False)(cls)
    names = tuple(made.__dataclass_fields__)  # type: ignore[attr-defined]  # mypy does not see what is made
    made._content = staticmethod(attrgetter(*names) if names else _nothing)  # type: ignore[attr-defined]  # noqa: SLF001
    return made


def tagged(tag: str) -> Callable[[type[T]], type[T]]:
    """Give a class its tag: what the key "kind" says of it in documents, whatever it is called and wherever it lies.

    Args:
        tag: part of the format of documents; never changed. No two members of a union have the same.
    """

    def mark(cls: type[T]) -> type[T]:
        cls.TAG = tag  # type: ignore[attr-defined]  # what `codec` looks for
        return cls

    return mark


def published_as(name: str) -> Callable[[type[T]], type[T]]:
    """Keep the name that published schemas have for a class (in "$defs") when the class itself is renamed.

    Args:
        name: part of the schemas; never changed.
    """

    def mark(cls: type[T]) -> type[T]:
        cls.PUBLISHED_AS = name  # type: ignore[attr-defined]  # likewise
        return cls

    return mark


def _init(self: Any, **given: object) -> None:  # noqa: ANN401 (of any such class, like all that follow)
    known: dict[str, Field[Any]] = self.__dataclass_fields__
    for name, each in known.items():
        _assign(self, name, given[name] if name in given else _make_default(self, each))
    if not given.keys() <= known.keys():
        unknown = ", ".join(name for name in given if name not in known)
        raise TypeError(f"{type(self).__qualname__} has no field {unknown}")


def _make_default(self: Any, each: "Field[Any]") -> object:  # noqa: ANN401
    if each.default is not MISSING:
        return each.default
    if each.default_factory is not MISSING:
        return each.default_factory()
    raise TypeError(f"{type(self).__qualname__} needs its field {each.name}")


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _nothing(_self: object) -> tuple[()]:
    """The content of a value without fields."""
    return ()


def _equal(self: Any, other: Any) -> bool:  # noqa: ANN401
    return self._content(self) == self._content(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(self._content(self))


def _state(self: Any) -> tuple[object, ...]:  # noqa: ANN401
    return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def _restore(self: Any, content: tuple[object, ...]) -> None:  # noqa: ANN401
    """What `pickle` and `copy` call; without it they would assign."""
    for name, item in zip(self.__dataclass_fields__, content, strict=True):
        _assign(self, name, item)


def _refuse_change(_self: Any, name: str, *_item: object) -> None:  # noqa: ANN401
    raise FrozenInstanceError(f"cannot change field {name!r}")


_METHODS = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _equal,
    "__hash__": _hash,
    "__getstate__": _state,
    "__setstate__": _restore,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
}
