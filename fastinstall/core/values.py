"""Immutable values, and the tags that distinguish members of a union in documents.

`@immutable` has the effect of `@dataclass(frozen=True, slots=True, kw_only=True)`, but defines a class in a tenth of
the time. `dataclasses` compiles six methods for each class at every start of the program, which takes half a
millisecond, and doctor needs more than a hundred classes. Classes made by `@immutable` share their methods, which read
the fields at run time. They are dataclasses: `fields`, `replace`, `field` and `is_dataclass` work with them.
`__post_init__` and `ClassVar` are not supported, since none of our values needs them.
"""

import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


def tag_of(cls: type) -> str:
    """Return the tag that `tagged` gave to a class ("system-packages")."""
    tag: str = cls.TAG  # type: ignore[attr-defined]  # each member of a union has one
    return tag


def is_tagged(cls: type) -> bool:
    """Return whether a class has a tag, which makes it a possible member of a union."""
    return hasattr(cls, "TAG")


@cache
def get_hints(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def is_required(field: "Field[Any]") -> bool:
    """Return whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


_assign = object.__setattr__


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def immutable(cls: type[T]) -> type[T]:
    """Make a class an immutable dataclass: its annotated names are fields, set by keyword in the constructor."""
    for name, method in _METHODS.items():
        setattr(cls, name, method)
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True, match_args=False)(cls)
    names = tuple(made.__dataclass_fields__)  # type: ignore[attr-defined]  # set by `dataclass`
    made._content = staticmethod(attrgetter(*names) if names else lambda _: ())  # type: ignore[attr-defined]  # noqa: SLF001
    return made


def tagged(tag: str) -> Callable[[type[T]], type[T]]:
    """Give a class its tag: the value of the key "kind" in documents, independent of the class's name and module.

    Args:
        tag: unique among the members of a union; part of the document format, so it must never change.
    """

    def mark(cls: type[T]) -> type[T]:
        cls.TAG = tag  # type: ignore[attr-defined]  # read by `tag_of`
        return cls

    return mark


def _init(self: Any, **given: object) -> None:  # noqa: ANN401 (any such class; so below)
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


def _equal(self: Any, other: Any) -> bool:  # noqa: ANN401
    return self._content(self) == self._content(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(self._content(self))


def _refuse_change(_self: Any, name: str, *_item: object) -> None:  # noqa: ANN401
    raise FrozenInstanceError(f"cannot change field {name!r}")


_METHODS = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _equal,
    "__hash__": _hash,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
}
