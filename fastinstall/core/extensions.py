"""What other distributions bring: modules that they name by entry points. Finds them; judges none of them.

Source: the entry points specification of packaging.python.org. Nothing is imported until it is asked for.
"""

import importlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from fastinstall.core.values import immutable

CHECKS = "fastinstall.checks"
RECIPES = "fastinstall.recipes"
ADAPTERS = "fastinstall.adapters"


@immutable
class Extension:
    """One entry point of another distribution.

    Attributes:
        name: left of the "=".
        module: right of it, dotted.
        distribution: name and version, "acme-checks 1.0".
    """

    name: str
    module: str
    distribution: str

    def load(self) -> ModuleType:
        """Import the module.

        Raises:
            ImportError: it cannot be imported, whatever it raised.
        """
        try:
            return importlib.import_module(self.module)
        except (Exception, SystemExit) as error:
            raise ImportError(f"{self.module} cannot be imported: {type(error).__name__}: {error}") from error

    def directory(self) -> Path:
        """Return where the module lies, for the sake of the files beside it.

        It is not imported, but packages around it are.

        Raises:
            ImportError: there is no such module, or a package around it cannot be imported.
        """
        try:
            spec = find_spec(self.module)
        except (Exception, SystemExit) as error:
            raise ImportError(f"{self.module} cannot be found: {type(error).__name__}: {error}") from error
        places = [] if spec is None else [*(spec.submodule_search_locations or ()), Path(spec.origin or "").parent]
        if not places:
            raise ImportError(f"there is no module {self.module}")
        return Path(places[0])


@immutable
class Ignored:
    """An extension that is passed over because its name is taken.

    Attributes:
        extension: that is passed over.
        holder: who has the name: "fastinstall", or another distribution.
    """

    extension: Extension
    holder: str

    def __str__(self) -> str:
        """Return one sentence for people."""
        extension = self.extension
        return f"{extension.name!r} of {extension.distribution} is ignored: {self.holder} already has that name"


def find_installed_extensions(group: str) -> tuple[Extension, ...]:
    """Return the extensions of a group that are installed beside fastinstall, by distribution and name."""
    return _find_installed(group, tuple(sys.path))


def choose(found: Iterable[Extension], own: Collection[str]) -> tuple[tuple[Extension, ...], tuple[Ignored, ...]]:
    """Keep one extension for each name: ours come first, then the distributions by name.

    Args:
        found: in the order of `installed`.
        own: names that fastinstall has itself.

    Returns:
        Those that count, and those that are passed over.
    """
    holders = dict.fromkeys(own, "fastinstall")
    chosen, ignored = [], []
    for extension in found:
        if extension.name in holders:
            ignored.append(Ignored(extension=extension, holder=holders[extension.name]))
        else:
            holders[extension.name] = extension.distribution
            chosen.append(extension)
    return tuple(chosen), tuple(ignored)


@cache
def _find_installed(group: str, path: tuple[str, ...]) -> tuple[Extension, ...]:
    if not any(f"[{group}]".encode() in text for text in _load_entry_points(path)):
        return ()
    return tuple(sorted(_list_declared(group), key=lambda each: (each.distribution, each.name)))


@cache
def _load_entry_points(path: tuple[str, ...]) -> tuple[bytes, ...]:
    """Read every entry_points.txt of the path.

    That takes a few milliseconds, where importlib.metadata takes forty to be imported.
    """
    return tuple(_read_entry_points(path))


def _read_entry_points(path: tuple[str, ...]) -> Iterator[bytes]:
    for directory in dict.fromkeys(path):
        with suppress(OSError), os.scandir(directory or ".") as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb") as file:  # noqa: PTH123 (fast)
                        yield file.read()


def _list_declared(group: str) -> Iterator[Extension]:
    from importlib.metadata import entry_points  # noqa: PLC0415 (slow to import, needed by few)

    for point in entry_points(group=group):
        distribution = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a distribution"
        yield Extension(name=point.name, module=point.value, distribution=distribution)
