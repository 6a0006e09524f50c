"""The decoders of `adapters/`, the stores of `_stores/` and the settings of allocators, as values.

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
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

USUAL_PRIORITY = 1000
"""Of a candidate without a stated priority: the lower, the earlier one is measured."""


@immutable
class StoreKind:
    """One way to store images, as its file describes it.

    Attributes:
        name: stable, the file's name.
        title: its name in tables and advice.
        modules: what must be importable in the target.
        brings: requirements that provide them.
        sdists: requirements that may be built from source, as an `Adapter` has them.
        by_hand: what has to be installed by hand first, as an `Adapter` has it.
        caveat: what to know before choosing it.
        in_files: whether every image has its own file, so that any loader can read it.
        settings: the parts of the pipeline that affect its content: "shorter", "filter".
        priority: the lower, the earlier it is measured.
        code: the line of code that reads the result of its script.
        file: path of the module that implements it.
    """

    name: str
    title: str
    modules: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    sdists: tuple[str, ...] = ()
    by_hand: str = ""
    caveat: str
    in_files: bool = False
    settings: tuple[str, ...] = ()
    priority: int = USUAL_PRIORITY
    code: str
    file: Path


@cache
def all_kinds() -> tuple[StoreKind, ...]:
    """Return every kind, in the order of measurement; a file without a name is shared code."""
    modules = (each for each in _import_modules(_stores) if hasattr(each, "NAME"))
    return tuple(sorted(map(_make_store_kind, modules), key=lambda each: (each.priority, each.name)))


def kind_named(name: str) -> StoreKind:
    """Return the kind of that name.

    Raises:
        UsageError: there is none.
    """
    kinds = {each.name: each for each in all_kinds()}
    if name not in kinds:
        raise UsageError(f"no store is named {name!r}", hint=f"choose from: {', '.join(kinds)}")
    return kinds[name]


def _import_modules(package: ModuleType) -> Iterator[ModuleType]:
    for each in pkgutil.iter_modules(package.__path__):
        if not each.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{each.name}")


def _make_store_kind(module: ModuleType) -> StoreKind:
    folder = 'torchvision.datasets.ImageFolder("OUT", transform)'
    reader = 'images = prepare.Reader("OUT")  # images.read(index), images.name(index)'
    return StoreKind(
        code=folder if getattr(module, "IN_FILES", False) else reader,
        **_read_description(StoreKind, module),
    )


_TUNABLES = "GLIBC_TUNABLES"
_KEPT_BYTES = 1 << 30


@immutable
class ProcessVariables:
    """Environment variables of a process.

    Attributes:
        name: stable, in kebab case.
        title: its name in tables and advice.
        libc_version: the oldest glibc that supports it.
        huge_pages: whether the kernel must allow transparent huge pages.
        variables: what is set; GLIBC_TUNABLES is extended.
        priority: the lower, the earlier it is measured.
    """

    name: str
    title: str
    variables: Mapping[str, str]
    libc_version: str = "2.0"
    huge_pages: bool = False
    priority: int = USUAL_PRIORITY


SETTINGS: tuple[ProcessVariables, ...] = (
    ProcessVariables(
        name="huge-pages",
        title="huge pages for large blocks (glibc)",
        variables={_TUNABLES: "glibc.malloc.hugetlb=1"},
        libc_version="2.35",
        huge_pages=True,
        priority=40,
    ),
    ProcessVariables(
        name="malloc-keep",
        title="large blocks kept for the next image (glibc)",
        variables={
            "MALLOC_MMAP_THRESHOLD_": str(_KEPT_BYTES),
            "MALLOC_TRIM_THRESHOLD_": str(_KEPT_BYTES),
            "MALLOC_TOP_PAD_": str(64 << 20),
        },
    ),
)


def variables_of(setting: ProcessVariables, machine: LoaderLimits, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set; existing values are kept and extended. Empty if it would change nothing.

    Args:
        setting: the variables to add, with placeholders for libraries.
        machine: the machine to use it on.
        variables: the environment variables that they are added to.
    """
    known = _parse_minor_version(machine.libc_version)
    if not known or known < _parse_minor_version(setting.libc_version):
        return {}
    if setting.huge_pages and machine.huge_pages in ("", "never"):
        return {}
    wanted = dict(setting.variables)
    if _TUNABLES in wanted:
        before = variables.get(_TUNABLES, "").split(":")
        wanted[_TUNABLES] = ":".join(dict.fromkeys(each for each in (*before, wanted[_TUNABLES]) if each))
    return wanted if any(variables.get(name) != value for name, value in wanted.items()) else {}


def _parse_minor_version(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split(".")[:2] if each.isdigit())


@immutable
class Adapter:
    """One way to decode and resize an image, as its file describes it.

    Attributes:
        name: stable, in kebab case.
        title: its name in tables and advice.
        modules: what must be importable in the target.
        brings: requirements that provide them.
        sdists: those of them that are only published as source distributions, of pure Python.
        by_hand: why these are never fetched into our cache; empty if they may be.
        formats: what it decodes, by Pillow's names; empty for whatever Pillow opens.
        aliased: whether its resize skips pixels.
        scales: how many times the requested size an image must have to be decoded partly; 0 if that does not matter.
        batched: whether it loads whole batches on its own threads (by its LOADER).
        priority: the lower, the earlier it is measured.
        code: the line of code that uses it.
        loader: a module with a function `load(path)`; SHORTER, CROP and FILTER are assigned before it.
        file: path of the module that implements it.
    """

    name: str
    title: str
    modules: tuple[str, ...]
    brings: tuple[str, ...]
    sdists: tuple[str, ...] = ()
    by_hand: str = ""
    formats: tuple[str, ...] = ()
    aliased: bool = False
    scales: float = 0
    batched: bool = False
    priority: int = USUAL_PRIORITY
    code: str
    loader: str
    file: Path


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Return every adapter: Pillow's own first, the others by name."""
    found = (Adapter(**_read_description(Adapter, each), code=each.CODE) for each in _import_modules(adapters))
    return tuple(sorted(found, key=lambda each: (not each.name.startswith("pillow"), each.name)))


def _read_description(kind: type[StoreKind | Adapter], module: ModuleType) -> dict[str, Any]:
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
