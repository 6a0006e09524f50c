"""Which renames put a staged tree in place, and move aside what it replaces."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.actions.bridge import bridge
from fastinstall.errors import RefusedError
from fastinstall.model.facts import Stack
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.model.recipe import LIBRARIES
from fastinstall.rules.messages import quote

_BRIDGE = "aside/bridge"


@immutable
class Exchange:
    """What changes place in site-packages.

    Attributes:
        prefix: the environment.
        site_packages: of the environment.
        staged: what comes in, laid out as site-packages.
        kept: where `staged` lies, relative to the transaction's directory.
        leaving: further top-level names that make room.
    """

    prefix: Path
    site_packages: Path
    staged: Path
    kept: str = "stage"
    leaving: tuple[str, ...] = ()


def swap_moves(exchange: Exchange, stack: Stack) -> tuple[Move, ...]:
    """The moves, in an order in which PIL works after each of them where there was one before.

    What comes in and is there already is exchanged in one step; what only goes is moved aside;
    what only comes is moved in, libraries before the PIL that needs them.

    Args:
        exchange: what comes in, and where.
        stack: the PIL that is there.

    Raises:
        RefusedError: site-packages lies outside the prefix, or a foreign file stands in the way.
    """
    prefix, site_packages = exchange.prefix, exchange.site_packages
    names = sorted(path.name for path in exchange.staged.iterdir())
    incoming = sorted(names, key=lambda name: _urgency(name, site_packages))
    replaced = sorted({*_replaced(stack), *exchange.leaving})
    _refuse_foreign(site_packages, incoming, replaced)
    site = site_packages.relative_to(prefix)
    coming = [_coming(exchange, site, name) for name in incoming]
    leaving = [
        Move(kind=MoveKind.OUT, live=str(site / name), kept=f"aside/{name}")
        for name in replaced
        if name not in incoming and os.path.lexists(site_packages / name)
    ]
    outside = [
        Move(kind=MoveKind.OUT, live=os.path.relpath(site_packages / path, prefix), kept=f"aside/outside/{number}")
        for number, path in enumerate(path for owner in stack.owners for path in owner.outside)
        if os.path.lexists(site_packages / path)
    ]
    return (*_guests(exchange, site, incoming), *coming, *leaving, *outside)


def _urgency(name: str, site_packages: Path) -> int:
    """A PIL that comes finds its libraries there, and they change place with others after it has (`bridge`)."""
    if name in LIBRARIES:
        return 2 if os.path.lexists(site_packages / name) else 0
    return 1 if name == "PIL" else 3


def _guests(exchange: Exchange, site: Path, incoming: Iterable[str]) -> Iterator[Move]:
    """Libraries that are let in beside those that are there, until these go."""
    work = exchange.staged.parents[len(PurePath(exchange.kept).parts) - 1]
    if not (exchange.site_packages / "PIL").is_dir():
        return
    for name in incoming:
        there = exchange.site_packages / name
        if name in LIBRARIES and there.is_dir() and not there.is_symlink():
            for path in bridge(exchange.staged / name, there, work / _BRIDGE / name):
                yield Move(kind=MoveKind.IN, live=str(site / name / path), kept=f"{_BRIDGE}/{name}/{path}")


def _coming(exchange: Exchange, site: Path, name: str) -> Move:
    there = os.path.lexists(exchange.site_packages / name)
    kind = MoveKind.EXCHANGE if there else MoveKind.IN
    return Move(kind=kind, live=str(site / name), kept=f"{exchange.kept}/{name}")


def _replaced(stack: Stack) -> list[str]:
    owned = [entry for owner in stack.owners for entry in owner.entries]
    directory = [stack.directory.name] if stack.directory is not None else []
    return [*owned, *directory, *stack.debris]


def _refuse_foreign(site_packages: Path, incoming: Iterable[str], replaced: Iterable[str]) -> None:
    # A Pillow's own still where its RECORD, or all its metadata, was lost.
    known = {*replaced, *LIBRARIES, "_fastinstall_guard", "fastinstall_guard.pth", "fastinstall_guard.start"}
    for name in incoming:
        if name not in known and os.path.lexists(site_packages / name):
            raise RefusedError(
                f"{site_packages / name} is in the way, and no Pillow's RECORD names it",
                hint=f"look at it, then move it away: mv {quote(site_packages / name)} /somewhere/else",
            )
