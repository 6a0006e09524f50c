"""Finds checks by their files, and those of other distributions by entry points; imports those that are asked for."""

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from fastinstall.errors import UsageError
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext

if TYPE_CHECKING:
    from fastinstall.extensions import Ignored
    from fastinstall.rules.checks._foreign import ForeignCheck

_PACKAGE = __name__.rpartition(".")[0]


class Check(Protocol):
    """What a module of this package is.

    Attributes:
        NAME: stable, in kebab case; the module's name with hyphens.
        SUMMARY: what the check says, in one sentence.
        NEEDS_RUNTIME: whether it says more when the target's interpreter was executed.
        ORDER: its place in reports, which go from the ground up: the lower comes first.
        VERIFIES_SETUP: whether a setup runs it after the swap, and is undone where it finds an error.
        SETUP_REPAIRS: whether a setup may mend its errors, so that `doctor --fix` plans one for them.
    """

    NAME: str
    SUMMARY: str
    NEEDS_RUNTIME: bool
    ORDER: int
    VERIFIES_SETUP: bool
    SETUP_REPAIRS: bool

    def check(self, context: CheckContext, /) -> Iterable[Finding]:
        """Give at least one finding, all of them under this check's name."""
        ...


def check_names(asked: Iterable[str] = (), *, foreign: bool = False) -> tuple[str, ...]:
    """Put the names asked for (all, if none) in the order of reports, each once.

    Args:
        asked: names; those of other distributions' checks are known, too.
        foreign: where none is asked for, whether "all" includes the checks of other distributions.

    Raises:
        UsageError: there is no check of that name.
    """
    wanted, own = set(asked), _own_names()
    if not wanted:
        return _in_order((*own, *foreign_checks()) if foreign else own)
    others = wanted.difference(own)
    if others and (unknown := sorted(others.difference(foreign_checks()))):
        raise _unknown(unknown[0], _in_order((*own, *foreign_checks())))
    return _in_order(wanted)


def load_check(name: str) -> Check:
    """Import the module of one check; of another distribution's, what stands for it and never fails to be imported."""
    if name not in _own_names():
        return foreign_checks()[name]
    module = importlib.import_module(f"{_PACKAGE}.{name.replace('-', '_')}")
    return cast("Check", module)


def needs_runtime(asked: Iterable[str] = ()) -> bool:
    """Tell whether the target's interpreter has to be executed for these checks."""
    return any(load_check(name).NEEDS_RUNTIME for name in check_names(asked))


def verifying_checks() -> tuple[str, ...]:
    """The checks of fastinstall by which a setup is verified."""
    return tuple(name for name in check_names() if load_check(name).VERIFIES_SETUP)


def foreign_verifying_checks() -> tuple[str, ...]:
    """Those of other distributions that say that a setup is to be verified by them."""
    return tuple(name for name in _in_order(foreign_checks()) if load_check(name).VERIFIES_SETUP)


def foreign_checks() -> "dict[str, ForeignCheck]":
    """The checks of other distributions, by name."""
    from fastinstall.rules.checks import _foreign  # noqa: PLC0415 (a quick doctor has no time to look for them)

    return _foreign.foreign_checks(_own_names())


def ignored_checks() -> "tuple[Ignored, ...]":
    """The checks of other distributions whose names are taken."""
    from fastinstall.rules.checks import _foreign  # noqa: PLC0415 (likewise)

    return _foreign.ignored_checks(_own_names())


@cache
def _own_names() -> frozenset[str]:
    package = importlib.import_module(_PACKAGE)
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return frozenset(module.replace("_", "-") for module in modules if not module.startswith("_"))


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (load_check(name).ORDER, name)))


def _unknown(name: str, known: tuple[str, ...]) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 (only where somebody mistyped)

    close = get_close_matches(name, known, n=1)
    meant = f"did you mean `fastinstall doctor {close[0]}`? " if close else ""
    return UsageError(f"there is no check {name!r}", hint=f"{meant}the checks are: {', '.join(known)}")
