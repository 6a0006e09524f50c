"""List the ways to load images: builds of Pillow, decoders of `adapters/`, a setting of glibc, stores of `_stores/`.

This module imports the files of decoders and stores for their constants; it imports nothing from a target.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType

from fastinstall.bench import _stores, adapters
from fastinstall.bench.report import CandidateKind
from fastinstall.core.values import immutable

FASTINSTALL = "fastinstall"
OFFICIAL_WHEEL = "official-wheel"
HUGE_PAGES = "huge-pages"
USUAL_PRIORITY = 1000
"""Priority of a candidate that has none of its own; candidates with lower numbers are measured earlier."""


@immutable
class Way:
    """One way to load images. The docstrings of `adapters/` and `_stores/` explain the constants of their files.

    Attributes:
        name: stable name in kebab case.
        title: the name in tables and advice.
        kind: which part of the environment this way changes.
        modules: modules that must be importable in the target.
        brings: requirements that provide the modules.
        sdists: requirements that are only published as source distributions, in pure Python.
        by_hand: why the requirements are never fetched into our cache; empty if they may be.
        priority: place in the order of measurement; lower numbers come earlier.
        code: a line of code that shows the use; empty for builds, settings and stores.
        file: path of the adapter's or store's module; `Path()` for builds and settings.
        formats: formats that can be decoded, by Pillow's names; empty for all that Pillow opens.
        aliased: whether the resize skips pixels, so that the picture differs.
        scales: how many times the requested size an image must have to be decoded at a reduced size; 0 if images are
            always decoded at full size.
        loader: for an adapter: source of a module with a function `load(path)`.
        caveat: for a store: what the user should know before choosing it.
        in_files: for a store: whether every image has its own file, so that any loader can read it.
        settings: for a store: which of "shorter" and "filter" affect the stored images.
    """

    name: str
    title: str
    kind: CandidateKind
    modules: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    sdists: tuple[str, ...] = ()
    by_hand: str = ""
    priority: int = USUAL_PRIORITY
    code: str = ""
    file: Path = Path()
    formats: tuple[str, ...] = ()
    aliased: bool = False
    scales: float = 0
    loader: str = ""
    caveat: str = ""
    in_files: bool = False
    settings: tuple[str, ...] = ()

    @property
    def batched(self) -> bool:
        """Whether this way loads whole batches, on its own threads."""
        return "\ndef batches(" in self.loader


@cache
def all_ways() -> tuple[Way, ...]:
    """Return every way to load images: builds, decoders, settings, stores."""
    stack = CandidateKind.STACK
    return (
        Way(name=FASTINSTALL, title="fastinstall's build, not yet installed", kind=stack, priority=20),
        Way(name=OFFICIAL_WHEEL, title="the newest official wheel of Pillow", kind=stack, priority=30),
        *all_adapters(),
        Way(name=HUGE_PAGES, title="huge pages for large blocks (glibc)", kind=CandidateKind.SETTING, priority=40),
        *all_stores(),
    )


@cache
def all_adapters() -> tuple[Way, ...]:
    """Return every adapter: those of Pillow first, then the others, each sorted by name."""
    ways = _read_files(adapters, CandidateKind.DECODER)
    return tuple(sorted(ways, key=lambda each: (not each.name.startswith("pillow"), each.name)))


@cache
def all_stores() -> tuple[Way, ...]:
    """Return every kind of store, in the order of measurement."""
    return tuple(sorted(_read_files(_stores, CandidateKind.STORAGE), key=lambda each: (each.priority, each.name)))


def way_named(name: str) -> Way | None:
    """Return the way with this name, or None if there is none."""
    return next((each for each in all_ways() if each.name == name), None)


def _read_files(package: ModuleType, kind: CandidateKind) -> Iterator[Way]:
    """Yield a `Way` for each public file of a package; the file's constants, in capitals, are the fields' values."""
    for file in pkgutil.iter_modules(package.__path__):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{file.name}")
            said = {each.name: getattr(module, each.name.upper(), None) for each in fields(Way)}
            given = {name: value for name, value in said.items() if value is not None}
            own = {"name": file.name.replace("_", "-"), "kind": kind, "file": Path(str(module.__file__))}
            yield Way(**{**given, **own})
