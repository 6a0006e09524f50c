"""The adapters of `adapters/`, as values: what each is called, needs and decodes. Nothing of a target is imported."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from fastinstall.bench import adapters
from fastinstall.errors import UsageError
from fastinstall.model.immutable import immutable


@immutable
class Adapter:
    """One way to decode and resize an image, as its file describes it.

    Attributes:
        name: stable, in kebab case.
        title: for people.
        modules: what has to be importable in the target.
        brings: requirements that bring them.
        by_hand: why these are never brought to our cache; empty where they may be.
        formats: what it decodes, by Pillow's names; empty for whatever Pillow opens.
        aliased: whether its resize skips pixels.
        code: the line of code that uses it.
        loader: a module with a function `load(path)`; SHORTER, CROP and FILTER are assigned in front of it.
        file: the module.
    """

    name: str
    title: str
    modules: tuple[str, ...]
    brings: tuple[str, ...]
    by_hand: str
    formats: tuple[str, ...]
    aliased: bool
    code: str
    loader: str
    file: Path


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Every adapter there is, Pillow's own first, the others by name."""
    found = sorted(map(_adapter, _modules()), key=lambda each: (not each.name.startswith("pillow"), each.name))
    return tuple(found)


def adapter_named(name: str) -> Adapter:
    """The adapter of that name.

    Raises:
        UsageError: there is none.
    """
    for each in all_adapters():
        if each.name == name:
            return each
    known = ", ".join(each.name for each in all_adapters())
    raise UsageError(f"there is no way of loading called {name!r}", hint=f"there are: {known}")


def _modules() -> Iterator[ModuleType]:
    for each in pkgutil.iter_modules(adapters.__path__):
        if not each.name.startswith("_"):
            yield importlib.import_module(f"{adapters.__name__}.{each.name}")


def _adapter(module: ModuleType) -> Adapter:
    return Adapter(
        name=module.NAME,
        title=module.TITLE,
        modules=tuple(module.MODULES),
        brings=tuple(module.BRINGS),
        by_hand=getattr(module, "BY_HAND", ""),
        formats=tuple(module.FORMATS),
        aliased=module.ALIASED,
        code=module.CODE,
        loader=module.LOADER,
        file=Path(str(module.__file__)),
    )
