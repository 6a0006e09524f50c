"""The adapters, as values: what each says of itself. Nothing of a target is imported.

They are the files of `adapters/`, and those that other distributions bring by the entry points `fastinstall.adapters`.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from fastinstall.bench import adapters
from fastinstall.bench.settings import SETTINGS, USUAL_PRIORITY
from fastinstall.bench.store_kinds import all_kinds
from fastinstall.errors import UsageError
from fastinstall.extensions import ADAPTERS, choose, installed
from fastinstall.model.immutable import immutable


@immutable
class Adapter:
    """One way to decode and resize an image, as its file describes it.

    Attributes:
        name: stable, in kebab case.
        title: for people.
        modules: what has to be importable in the target.
        brings: requirements that bring them.
        sdists: those of them that are published as source distributions alone, of pure Python.
        by_hand: why these are never brought to our cache; empty where they may be.
        formats: what it decodes, by Pillow's names; empty for whatever Pillow opens.
        aliased: whether its resize skips pixels.
        scales: whether it gains by decoding at a part of the size.
        priority: the less, the earlier it is measured.
        imread_benchmark: its name in the results of imread_benchmark; empty where its stages are others.
        code: the line of code that uses it.
        loader: a module with a function `load(path)`; SHORTER, CROP and FILTER are assigned in front of it.
        file: the module.
        distribution: name and version of what brings it; empty for those of fastinstall.
    """

    name: str
    title: str
    modules: tuple[str, ...]
    brings: tuple[str, ...]
    sdists: tuple[str, ...] = ()
    by_hand: str = ""
    formats: tuple[str, ...]
    aliased: bool
    scales: bool = False
    priority: int = USUAL_PRIORITY
    imread_benchmark: str = ""
    code: str
    loader: str
    file: Path
    distribution: str = ""


def all_adapters() -> tuple[Adapter, ...]:
    """Every adapter there is: Pillow's own first, the others by name, those of other distributions last."""
    return (*_own_adapters(), *(each for each in _foreign_adapters() if isinstance(each, Adapter)))


def adapter_problems() -> tuple[str, ...]:
    """Why adapters of other distributions are left out, one sentence each."""
    _, ignored = choose(installed(ADAPTERS), _own_names())
    broken = (each for each in _foreign_adapters() if isinstance(each, str))
    return (*(f"the adapter {each}" for each in ignored), *broken)


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


@cache
def _own_adapters() -> tuple[Adapter, ...]:
    found = sorted(map(_adapter, _modules()), key=lambda each: (not each.name.startswith("pillow"), each.name))
    return tuple(found)


def _own_names() -> frozenset[str]:
    """What can be compared by its name already."""
    decoders = frozenset(each.name for each in _own_adapters())
    return decoders | {each.name for each in all_kinds()} | {each.name for each in SETTINGS}


def _foreign_adapters() -> Iterator[Adapter | str]:
    """Each adapter of another distribution, or what is wrong with it."""
    for extension in choose(installed(ADAPTERS), _own_names())[0]:
        try:
            yield replace(_adapter(extension.load()), name=extension.name, distribution=extension.distribution)
        except (ImportError, AttributeError, TypeError) as error:
            yield f"the adapter {extension.name!r} of {extension.distribution} is left out: {error}"


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
        sdists=tuple(getattr(module, "SDISTS", ())),
        by_hand=getattr(module, "BY_HAND", ""),
        formats=tuple(module.FORMATS),
        aliased=module.ALIASED,
        scales=getattr(module, "SCALES", False),
        priority=getattr(module, "PRIORITY", USUAL_PRIORITY),
        imread_benchmark=getattr(module, "IMREAD_BENCHMARK", ""),
        code=module.CODE,
        loader=module.LOADER,
        file=Path(str(module.__file__)),
    )
