"""The kinds of `_stores/`, as values: what each is called, needs and holds. Nothing of a target is imported."""

import importlib
from functools import cache
from pathlib import Path

from fastinstall.bench import _stores
from fastinstall.errors import UsageError
from fastinstall.model.immutable import immutable

_NAMES = ("resized", "raw", "lmdb", "hdf5", "tfrecord", "webdataset", "bmp")
"""In the order in which they are measured: what promises most comes first, what takes most room last."""


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
    code: str
    file: Path


@cache
def all_kinds() -> tuple[StoreKind, ...]:
    """Every kind there is."""
    return tuple(map(_kind, _NAMES))


def kind_named(name: str) -> StoreKind:
    """The kind of that name.

    Raises:
        UsageError: there is none.
    """
    for each in all_kinds():
        if each.name == name:
            return each
    raise UsageError(f"there is no store called {name!r}", hint=f"there are: {', '.join(_NAMES)}")


def _kind(name: str) -> StoreKind:
    module = importlib.import_module(f"{_stores.__name__}.{name}")
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
        code=folder if module.IN_FILES else reader,
        file=Path(str(module.__file__)),
    )
