"""Finds the checks of this package by their files, and imports those that are asked for."""

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Protocol, cast

from fastinstall.errors import UsageError
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext

_PACKAGE = __name__.rpartition(".")[0]

ORDER = (
    "environment",
    "conda-records",
    "cpu-level",
    "pillow-importable",
    "pillow-owner",
    "pillow-files",
    "simd-active",
    "build-flags",
    "isa-compatible",
    "jpeg-library",
    "jpeg-duplicates",
    "libraries-resolve",
    "features",
    "operations",
    "live-process",
    "swapped",
    "interrupted",
    "way-back",
    "guards",
    "advisories",
    "cuda",
    "data-loading",
)
"""The order of reports: from the ground up. A check that is not named here comes last."""


class Check(Protocol):
    """What a module of this package is.

    Attributes:
        NAME: stable, in kebab case; the module's name with hyphens.
        SUMMARY: what the check says, in one sentence.
        NEEDS_RUNTIME: whether it says more when the target's interpreter was executed.
    """

    NAME: str
    SUMMARY: str
    NEEDS_RUNTIME: bool

    def check(self, context: CheckContext, /) -> Iterable[Finding]:
        """Give at least one finding, all of them under this check's name."""
        ...


def check_names(asked: Iterable[str] = ()) -> tuple[str, ...]:
    """Put the names asked for (all, if none) in the order of reports, each once.

    Raises:
        UsageError: there is no check of that name.
    """
    known = _known()
    wanted = set(asked) or set(known)
    for name in sorted(wanted.difference(known)):
        raise _unknown(name, known)
    return tuple(name for name in known if name in wanted)


def load_check(name: str) -> Check:
    """Import the module of one check."""
    module = importlib.import_module(f"{_PACKAGE}.{name.replace('-', '_')}")
    return cast("Check", module)


def needs_runtime(asked: Iterable[str] = ()) -> bool:
    """Tell whether the target's interpreter has to be executed for these checks."""
    return any(load_check(name).NEEDS_RUNTIME for name in check_names(asked))


def _known() -> tuple[str, ...]:
    package = importlib.import_module(_PACKAGE)
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    names = sorted(module.replace("_", "-") for module in modules if not module.startswith("_"))
    return tuple(sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)))


def _unknown(name: str, known: tuple[str, ...]) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 (only where somebody mistyped)

    close = get_close_matches(name, known, n=1)
    meant = f"did you mean `fastinstall doctor {close[0]}`? " if close else ""
    return UsageError(f"there is no check {name!r}", hint=f"{meant}the checks are: {', '.join(known)}")
