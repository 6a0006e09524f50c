"""A repair also gives other packages back the files that were taken from them, in the right order. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fastinstall.model.conda import Conda, CondaChange, CondaPackage
from fastinstall.model.plan import Plan
from fastinstall.model.steps import ChangeCondaPackages, MakeCondaPackages, Step
from fastinstall.rules.conda_names import TURBO
from fastinstall.rules.conda_repair import clobbered_to_reinstall
from fastinstall.rules.messages import listing


def with_reinstalls(plan: Plan, conda: Conda) -> Plan:
    """The plan of a repair, with what has to be installed again for libraries and headers to be whole.

    Left as it is where there is nothing to do, or no engine at work that could: then `doctor` goes on telling it.
    """
    packages = clobbered_to_reinstall(conda)
    making = next((step for step in plan.steps if isinstance(step, MakeCondaPackages)), None)
    if not packages or making is None:
        return plan
    planned = [package for step in plan.steps if isinstance(step, ChangeCondaPackages) for package in _touched(step)]
    again = [package for package in packages if package.name not in {each.name for each in planned}]
    first = [package for package in again if package.name != TURBO]
    last = [package for package in again if package.name == TURBO]
    changes = [_reinstallation(making, tuple(each)) for each in (first, last) if each]
    skipped = tuple(each for each in plan.skipped if each.step != "change-conda-packages" or not changes)
    return replace(plan, steps=tuple(_with(plan.steps, changes)), skipped=skipped)


def _touched(step: ChangeCondaPackages) -> tuple[CondaPackage, ...]:
    return (*step.change.linked, *step.change.unlinked)


def _reinstallation(making: MakeCondaPackages, packages: tuple[CondaPackage, ...]) -> ChangeCondaPackages:
    """A step of its own, because within one transaction the order is the engine's, and the last one has the files."""
    names = listing(package.name for package in packages)
    last = ", last of all, so that its headers win" if packages[-1].name == TURBO else ""
    return ChangeCondaPackages(
        engine=making.engine,
        change=CondaChange(linked=packages, unlinked=packages),
        reason=f"files of {names} were taken or lost: installed again{last}",
    )


def _with(steps: Iterable[Step], changes: Iterable[ChangeCondaPackages]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, MakeCondaPackages):
            yield from changes
        yield step
