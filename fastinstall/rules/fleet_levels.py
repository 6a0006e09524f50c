"""Which CPU levels the hosts of a fleet need, and how few wheels carry them. Pure.

One wheel carries several levels where the loader chooses among them (glibc 2.33, see `choose`). An older loader takes
the baseline of such a wheel, which is right and slower. So hosts with one get a wheel for their level alone, in a
directory of its own: at the top of a wheelhouse lies nothing that any host of that Python could not run, because a
tool that looks at file names (pip, uv) sees no CPU.
"""

from collections.abc import Iterable, Iterator

from fastinstall.model.fleet import Machine
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.rules.choose import best_level, in_order, lacking
from fastinstall.rules.levels import LEVELS, knows_levels
from fastinstall.rules.messages import listing
from fastinstall.rules.wishes import asked_levels

TOP = "."


@immutable
class Share:
    """What one wheel serves of the machines with one Python.

    Attributes:
        machines: that take it; all have the same Python, ABI, architecture and kind of C library.
        levels: in the wheel, the baseline first.
        directory: where it lies in a wheelhouse.
        reason: why these levels.
    """

    machines: tuple[Machine, ...]
    levels: tuple[str, ...]
    directory: str
    reason: str


def shares(machines: Iterable[Machine], recipe: Recipe, wish: Wish) -> tuple[Share, ...]:
    """The wheels that serve machines at their best, as few as that takes; by Python, the top of the wheelhouse first.

    Args:
        machines: each of which something can be built for (`fleet_refusals`).
        recipe: knows the levels.
        wish: names levels, which then are in every wheel, or leaves the choice to us.
    """
    by_python: dict[tuple[str, ...], list[Machine]] = {}
    for machine in machines:
        by_python.setdefault(_python(machine), []).append(machine)
    return tuple(share for key in sorted(by_python) for share in _shares(by_python[key], recipe, wish))


def loaded_level(machine: Machine, share: Share, recipe: Recipe, wish: Wish) -> str:
    """Which of a wheel's levels a machine runs."""
    if len(share.levels) == 1 or not _chooses(machine, wish):
        return share.levels[0]
    return [level.name for level in in_order(recipe, share.levels) if not lacking(level, machine.cpu)][-1]


def _shares(machines: list[Machine], recipe: Recipe, wish: Wish) -> Iterator[Share]:
    asked = tuple(level.name for level in in_order(recipe, asked_levels(wish)))
    if asked:
        yield Share(machines=tuple(machines), levels=asked, directory=TOP, reason=f"{listing(asked)}, as asked")
        return
    best = {machine: best_level(recipe, machine.cpu).name for machine in machines}
    common = _common(best, recipe, wish)
    apart: dict[str, list[Machine]] = {}
    for machine in machines:
        if best[machine] != common[0] and not (best[machine] in common and _chooses(machine, wish)):
            apart.setdefault(best[machine], []).append(machine)
    elsewhere = {machine for found in apart.values() for machine in found}
    top = tuple(machine for machine in machines if machine not in elsewhere)
    yield Share(machines=top, levels=common, directory=TOP, reason=_reason(common))
    for name in sorted(apart):
        yield Share(machines=tuple(apart[name]), levels=(name,), directory=name, reason=_reason_apart(name, wish))


def _common(best: dict[Machine, str], recipe: Recipe, wish: Wish) -> tuple[str, ...]:
    """The levels of the wheel at the top: the least of all machines, and the best of those whose loader chooses."""
    ordered = [level.name for level in in_order(recipe, set(best.values()))]
    chosen = {name for machine, name in best.items() if name in LEVELS and _chooses(machine, wish)}
    together = chosen if ordered[0] in LEVELS else set()
    return tuple(level.name for level in in_order(recipe, {ordered[0], *together}))


def _chooses(machine: Machine, wish: Wish) -> bool:
    """Whether the loader there takes the best of several levels in one wheel."""
    return wish.link is LinkMode.BUNDLE and knows_levels(machine.libc, machine.libc_version)


def _python(machine: Machine) -> tuple[str, ...]:
    major, _, minor = machine.python.partition(".")
    return machine.implementation, f"{major:>3}.{minor:>3}", machine.abi, machine.architecture, machine.libc


def _reason(levels: tuple[str, ...]) -> str:
    if len(levels) == 1:
        return f"{levels[0]} is what every host has that takes it"
    return f"{listing(levels)} in one wheel: the loader takes the best that each CPU has"


def _reason_apart(level: str, wish: Wish) -> str:
    if wish.link is LinkMode.BUNDLE:
        return f"{level} alone: the loader there (glibc before 2.33) cannot choose among several"
    return f"{level} alone: a wheel that is linked to libraries outside of it carries one level"
