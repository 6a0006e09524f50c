"""The decoders of `adapters/`, the stores of `_stores/` as values, and huge pages.

Their files are read; nothing of a target is imported.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

from fastinstall.bench import _stores, adapters
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

USUAL_PRIORITY = 1000
"""Of a candidate without a stated priority: the lower, the earlier one is measured."""


@immutable
class Description:
    """What a file of `adapters/` or `_stores/` says of itself.

    Attributes:
        name: stable, in kebab case.
        title: its name in tables and advice.
        modules: what must be importable in the target.
        brings: requirements that provide them.
        sdists: those of them that are only published as source distributions, of pure Python.
        by_hand: why these are never fetched into our cache; empty if they may be.
        priority: the lower, the earlier it is measured.
        code: the line of code that uses it.
        file: path of the module that implements it.
    """

    name: str
    title: str
    modules: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    sdists: tuple[str, ...] = ()
    by_hand: str = ""
    priority: int = USUAL_PRIORITY
    code: str
    file: Path


@immutable
class StoreKind(Description):
    """One way to store images; `code` reads what its script has made.

    Attributes:
        caveat: what to know before choosing it.
        in_files: whether every image has its own file, so that any loader can read it.
        settings: the parts of the pipeline that affect its content: "shorter", "filter".
    """

    caveat: str
    in_files: bool = False
    settings: tuple[str, ...] = ()


@cache
def all_kinds() -> tuple[StoreKind, ...]:
    """Return every kind, in the order of measurement; a file without a name is shared code."""
    modules = (each for each in _import_modules(_stores) if hasattr(each, "NAME"))
    return tuple(sorted(map(_make_store_kind, modules), key=lambda each: (each.priority, each.name)))


def kind_named(name: str) -> StoreKind:
    """Return the kind of that name, which is one of them."""
    return next(each for each in all_kinds() if each.name == name)


def _import_modules(package: ModuleType) -> Iterator[ModuleType]:
    for each in pkgutil.iter_modules(package.__path__):
        if not each.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{each.name}")


def _make_store_kind(module: ModuleType) -> StoreKind:
    folder = 'torchvision.datasets.ImageFolder("OUT", transform)'
    reader = 'images = prepare.Reader("OUT")  # images.read(index), images.name(index)'
    return StoreKind(
        code=folder if getattr(module, "IN_FILES", False) else reader, **_read_description(StoreKind, module)
    )


HUGE_PAGES = "huge-pages"
HUGE_PAGES_TITLE = "huge pages for large blocks (glibc)"
_TUNABLES, _TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
_GLIBC_WITH_HUGE_PAGES = (2, 35)


def huge_pages_variables(machine: LoaderLimits, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give large blocks huge pages; empty if they are set, or not supported here.

    Args:
        machine: the machine to use them on.
        variables: the environment variables that they are added to.
    """
    known = tuple(int(each) for each in machine.libc_version.split(".")[:2] if each.isdigit())
    before = [each for each in variables.get(_TUNABLES, "").split(":") if each]
    if known < _GLIBC_WITH_HUGE_PAGES or machine.huge_pages in ("", "never") or _TUNABLE in before:
        return {}
    return {_TUNABLES: ":".join((*before, _TUNABLE))}


@immutable
class Adapter(Description):
    """One way to decode and resize an image.

    Attributes:
        formats: what it decodes, by Pillow's names; empty for whatever Pillow opens.
        aliased: whether its resize skips pixels.
        scales: how many times the requested size an image must have to be decoded partly; 0 if that does not matter.
        batched: whether it loads whole batches on its own threads (by its LOADER).
        loader: a module with a function `load(path)`; SHORTER, CROP and FILTER are assigned before it.
    """

    formats: tuple[str, ...] = ()
    aliased: bool = False
    scales: float = 0
    batched: bool = False
    loader: str


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Return every adapter: Pillow's own first, the others by name."""
    found = (Adapter(**_read_description(Adapter, each), code=each.CODE) for each in _import_modules(adapters))
    return tuple(sorted(found, key=lambda each: (not each.name.startswith("pillow"), each.name)))


def _read_description(kind: type[Description], module: ModuleType) -> dict[str, Any]:
    """Return a file's description: each field of the value by its name in capitals.

    Raises:
        AttributeError: a required name is missing.
        TypeError: a value is not a list.
    """
    found: dict[str, Any] = {"file": Path(str(module.__file__))}
    for each in fields(kind):
        name = each.name.upper()
        if each.name not in ("file", "code") and (each.default is MISSING or hasattr(module, name)):
            value = getattr(module, name)
            found[each.name] = tuple(value) if get_origin(each.type) is tuple else value
    return found
