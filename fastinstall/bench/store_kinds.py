"""The kinds of `_stores/`, as values: what each says of itself. Nothing of a target is imported."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from fastinstall.bench import _stores
from fastinstall.bench.settings import USUAL_PRIORITY
from fastinstall.errors import UsageError
from fastinstall.model.immutable import immutable


class Sized(Protocol):
    """An image of which size and pixels are known."""

    @property
    def path(self) -> Path:
        """Its file."""

    @property
    def width(self) -> int:
        """In pixels."""

    @property
    def height(self) -> int:
        """In pixels."""

    @property
    def size_bytes(self) -> int:
        """Of its file."""


Room = Callable[[Sized, Mapping[str, Any]], int]
"""How many bytes an image takes at most in a store, by what is wanted of it."""


@immutable
class StoreKind:
    """One way to keep images otherwise than as they came, as its file describes it.

    Attributes:
        name: stable, the file's name.
        title: for people.
        modules: what has to be importable in the target.
        brings: requirements that bring them.
        caveat: what has to be known before it is chosen.
        in_files: whether every image has a file of its own, so that any loader can read it.
        decoded: whether it holds arrays, so that nothing is left to be done.
        settings: what of the pipeline decides what it holds: "shorter", "crop", "filter".
        priority: the less, the earlier it is measured.
        most_bytes: how many bytes an image takes at most.
        code: the line of code that reads it, of what its script makes.
        file: the module.
    """

    name: str
    title: str
    modules: tuple[str, ...]
    brings: tuple[str, ...]
    caveat: str
    in_files: bool
    decoded: bool
    settings: tuple[str, ...]
    priority: int
    most_bytes: Room
    code: str
    file: Path


@cache
def all_kinds() -> tuple[StoreKind, ...]:
    """Every kind there is, in the order in which they are measured."""
    return tuple(sorted(map(_kind, _store_modules()), key=lambda each: (each.priority, each.name)))


def kind_named(name: str) -> StoreKind:
    """The kind of that name.

    Raises:
        UsageError: there is none.
    """
    for each in all_kinds():
        if each.name == name:
            return each
    known = ", ".join(each.name for each in all_kinds())
    raise UsageError(f"there is no store called {name!r}", hint=f"there are: {known}")


def _store_modules() -> Iterator[ModuleType]:
    """The files of stores; those without a name are shared by others."""
    for each in pkgutil.iter_modules(_stores.__path__):
        module = importlib.import_module(f"{_stores.__name__}.{each.name}")
        if hasattr(module, "NAME"):
            yield module


def _kind(module: ModuleType) -> StoreKind:
    folder = 'torchvision.datasets.ImageFolder("OUT", transform)'
    reader = 'images = prepare.Reader("OUT")  # images.read(index), images.name(index)'
    return StoreKind(
        name=module.NAME,
        title=module.TITLE,
        modules=tuple(module.MODULES),
        brings=tuple(module.BRINGS),
        caveat=module.CAVEAT,
        in_files=module.IN_FILES,
        decoded=module.DECODED,
        settings=tuple(module.SETTINGS),
        priority=getattr(module, "PRIORITY", USUAL_PRIORITY),
        most_bytes=getattr(module, "most_bytes", _as_it_is),
        code=folder if module.IN_FILES else reader,
        file=Path(str(module.__file__)),
    )


def _as_it_is(image: Sized, _wanted: Mapping[str, Any]) -> int:
    """The bytes of the file."""
    return image.size_bytes
