"""What every value of ours is made by: frozen, slotted and keyword-only.

`@immutable` makes what `@dataclass(frozen=True, slots=True, kw_only=True)` would make, at a tenth of the price.
`dataclasses` compiles six methods for each class anew, half a millisecond, whenever the program starts, and doctor
needs more than a hundred classes. Here the methods are written once, for all of them, and read the fields at run time.

What comes out is a dataclass: `fields`, `replace`, `field` and `is_dataclass` work on it. It has no `__post_init__`, no
`ClassVar` and no inheritance, which no value of ours needs.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
_assign = object.__setattr__


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
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
        _assign(self, name, given[name] if name in given else _default(self, each))
    if not given.keys() <= known.keys():
        unknown = ", ".join(name for name in given if name not in known)
        raise TypeError(f"{type(self).__qualname__} has no field {unknown}")


def _default(self: Any, each: "Field[Any]") -> object:  # noqa: ANN401
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


def _refuse_assignment(_self: Any, name: str, _item: object) -> None:  # noqa: ANN401
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: Any, name: str) -> None:  # noqa: ANN401
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _equal,
    "__hash__": _hash,
    "__getstate__": _state,
    "__setstate__": _restore,
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
}
