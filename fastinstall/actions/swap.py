"""Which renames put a staged tree in place, and move aside what it replaces."""

import os
from collections.abc import Iterable
from pathlib import Path

from fastinstall.errors import RefusedError
from fastinstall.model.facts import Stack
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind

_LIBRARIES = ("pillow.libs", "pillow_simd.libs")
"""Directories that auditwheel names after a Pillow: its own still where its RECORD, or all its metadata, was lost."""


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
    """The moves, those that Python notices first next to each other.

    What comes in and is there already is exchanged in one step; what only goes is moved aside;
    what only comes is moved in.

    Args:
        exchange: what comes in, and where.
        stack: the PIL that is there.

    Raises:
        RefusedError: site-packages lies outside the prefix, or a foreign file stands in the way.
    """
    prefix, site_packages = exchange.prefix, exchange.site_packages
    incoming = sorted((path.name for path in exchange.staged.iterdir()), key=_urgency)
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
    return (*coming, *leaving, *outside)


def _urgency(name: str) -> tuple[int, str]:
    order = ("PIL", *_LIBRARIES)
    return (order.index(name) if name in order else len(order), name)


def _coming(exchange: Exchange, site: Path, name: str) -> Move:
    there = os.path.lexists(exchange.site_packages / name)
    kind = MoveKind.EXCHANGE if there else MoveKind.IN
    return Move(kind=kind, live=str(site / name), kept=f"{exchange.kept}/{name}")


def _replaced(stack: Stack) -> list[str]:
    owned = [entry for owner in stack.owners for entry in owner.entries]
    directory = [stack.directory.name] if stack.directory is not None else []
    return [*owned, *directory, *stack.debris]


def _refuse_foreign(site_packages: Path, incoming: Iterable[str], replaced: Iterable[str]) -> None:
    known = {*replaced, *_LIBRARIES, "_fastinstall_guard", "fastinstall_guard.pth", "fastinstall_guard.start"}
    for name in incoming:
        if name not in known and os.path.lexists(site_packages / name):
            raise RefusedError(
                f"{site_packages / name} is in the way, and no Pillow's RECORD names it",
                hint=f"look at it, then move it away: mv {site_packages / name} /somewhere/else",
            )
