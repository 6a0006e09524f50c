"""Which renames put a staged tree in place, and move aside what it replaces."""

import os
from collections.abc import Iterable
from pathlib import Path

from fastinstall.errors import RefusedError
from fastinstall.model.facts import Stack
from fastinstall.model.receipt import Move, MoveKind


def swap_moves(prefix: Path, site_packages: Path, stage: Path, stack: Stack) -> tuple[Move, ...]:
    """The moves, those that Python notices first next to each other.

    What comes in and is there already is exchanged in one step; what only goes is moved aside;
    what only comes is moved in.

    Raises:
        RefusedError: site-packages lies outside the prefix, or a foreign file stands in the way.
    """
    incoming = sorted((path.name for path in stage.iterdir()), key=_urgency)
    _refuse_foreign(site_packages, incoming, stack)
    site = site_packages.relative_to(prefix)
    coming = [_coming(site_packages, site, name) for name in incoming]
    leaving = [
        Move(kind=MoveKind.OUT, live=str(site / name), kept=f"aside/{name}")
        for name in _replaced(stack)
        if name not in incoming and os.path.lexists(site_packages / name)
    ]
    outside = [
        Move(kind=MoveKind.OUT, live=os.path.relpath(site_packages / path, prefix), kept=f"aside/outside/{number}")
        for number, path in enumerate(path for owner in stack.owners for path in owner.outside)
        if os.path.lexists(site_packages / path)
    ]
    return (*coming, *leaving, *outside)


def _urgency(name: str) -> tuple[int, str]:
    order = ("PIL", "pillow.libs", "pillow_simd.libs")
    return (order.index(name) if name in order else len(order), name)


def _coming(site_packages: Path, site: Path, name: str) -> Move:
    there = os.path.lexists(site_packages / name)
    return Move(kind=MoveKind.EXCHANGE if there else MoveKind.IN, live=str(site / name), kept=f"stage/{name}")


def _replaced(stack: Stack) -> list[str]:
    owned = [entry for owner in stack.owners for entry in owner.entries]
    directory = [stack.directory.name] if stack.directory is not None else []
    return sorted({*owned, *directory, *stack.debris})


def _refuse_foreign(site_packages: Path, incoming: Iterable[str], stack: Stack) -> None:
    known = {*_replaced(stack), "_fastinstall_guard", "fastinstall_guard.pth", "fastinstall_guard.start"}
    for name in incoming:
        if name not in known and os.path.lexists(site_packages / name):
            raise RefusedError(
                f"{site_packages / name} is in the way, and no Pillow's RECORD names it",
                hint=f"look at it, then move it away: mv {site_packages / name} /somewhere/else",
            )
